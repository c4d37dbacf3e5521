"""The catalogue."""

from pathlib import Path

import pytest

from core.dialects import ENOUGH_ROWS, detect
from core.sources import DOMAINS, Catalogue, first_rows
from core.sources.catalogue import BadCatalogue, NotInCatalogue
from core.workspace import BUNDLED, Workspace, checked_name


def own(workspace: Workspace, text: str) -> Catalogue:
    workspace.home.mkdir(parents=True, exist_ok=True)
    (workspace.home / "catalogue.toml").write_text(text, encoding="utf-8")
    return Catalogue.load(workspace)


def test_the_shipped_entries_are_complete(workspace: Workspace) -> None:
    entries = Catalogue.load(workspace).entries()
    names = [entry.name for entry in entries]
    assert len(set(names)) == len(names) >= 35
    for entry in entries:
        assert checked_name(entry.name)
        assert entry.title
        assert str(entry.hub_id).count("/") == 1
        assert entry.domain in DOMAINS
        assert not set(entry.overlaps) - set(names), entry.name
        assert entry.evaluation == ("do not train" in entry.notes)


NAMED = [
    "Open-Orca/OpenOrca",
    "theblackcat102/evol-codealpaca-v1",
    "ise-uiuc/Magicoder-OSS-Instruct-75K",
    "ise-uiuc/Magicoder-Evol-Instruct-110K",
    "RyokoAI/ShareGPT52K",
    "anon8231489123/ShareGPT_Vicuna_unfiltered",
    "HuggingFaceH4/ultrachat_200k",
    "stingning/ultrachat",
    "OpenAssistant/oasst1",
    "OpenAssistant/oasst2",
    "sahil2801/CodeAlpaca-20k",
    "thoughtworks/agentic-coding-trajectories",
    "nebius/SWE-agent-trajectories",
    "SWE-bench/SWE-smith-trajectories",
    "SWE-Gym/OpenHands-Sampled-Trajectories",
    "nebius/SWE-rebench-openhands-trajectories",
    "glaiveai/glaive-function-calling-v2",
    "NousResearch/hermes-function-calling-v1",
    "Mustafaege/qwen3.5-toolcalling-v2",
    "Nanbeige/ToolMind",
    "Salesforce/xlam-function-calling-60k",
    "Team-ACE/ToolACE",
    "nvidia/Nemotron-Post-Training-Dataset-v1",
    "nvidia/Nemotron-Post-Training-Dataset-v2",
    "nvidia/Llama-Nemotron-Post-Training-Dataset",
    "nvidia/Nemotron-SFT-Agentic-v2",
    "allenai/tulu-3-sft-mixture",
    "mlabonne/open-perfectblend",
    "openai/gsm8k",
]
"""The sources that Mixdown is for."""

NOT_KNOWN = {
    "licence": {"nemotron-agentic", "openhands-sampled", "math-500"},
    "rows": {"ultrachat-full", "nemotron-v1", "llama-nemotron", "llama-nemotron-math", "nemotron-agentic", "hendrycks-math"},
}
"""What no publisher states or nobody checked; the entry's notes or the first import say it."""


def test_every_source_that_mixdown_is_for_has_an_entry_with_all_its_fields(workspace: Workspace) -> None:
    entries = Catalogue.load(workspace).entries()
    assert set(NAMED) <= {entry.hub_id for entry in entries}
    assert len({entry.config for entry in entries if entry.hub_id == "NousResearch/hermes-function-calling-v1"}) == 5
    for entry in entries:
        assert entry.columns and entry.dialect, entry.name
        assert entry.split or entry.files or entry.name == "toolmind", entry.name
        assert bool(entry.licence) != (entry.name in NOT_KNOWN["licence"]), entry.name
        assert bool(entry.rows) != (entry.name in NOT_KNOWN["rows"]), entry.name
        assert entry.evaluation == (entry.domain == "evaluation"), entry.name
    assert {entry.hub_id for entry in entries if entry.gated} >= {
        "Salesforce/xlam-function-calling-60k",
        "nvidia/Nemotron-Post-Training-Dataset-v2",
    }
    assert {entry.domain for entry in entries} == set(DOMAINS)


def test_a_sample_is_in_the_dialect_that_the_catalogue_names(workspace: Workspace) -> None:
    for entry in Catalogue.load(workspace).entries():
        if entry.bundled:
            assert detect(first_rows(entry.bundled, ENOUGH_ROWS)).dialect == entry.dialect, entry.name


def test_overlaps_are_told_from_both_sides_where_a_set_is_inside_another(workspace: Workspace) -> None:
    catalogue = Catalogue.load(workspace)
    assert "inside tulu-3" in catalogue.entry("tulu-3-sft").overlaps["evol-codealpaca"]
    for one, other in (("magicoder-evol", "evol-codealpaca"), ("agentic-coding", "swe-smith")):
        assert "never both" in catalogue.entry(one).overlaps[other]
        assert "never both" in catalogue.entry(other).overlaps[one]


def test_every_bundled_sample_has_an_entry(workspace: Workspace) -> None:
    samples = BUNDLED / "sources"
    if not samples.is_dir():
        pytest.skip("no samples in this checkout")
    bundled = {entry.name: entry.bundled for entry in Catalogue.load(workspace).entries() if entry.bundled}
    assert bundled == {folder.name: folder for folder in samples.iterdir() if folder.is_dir() and not folder.name.startswith("_")}


def test_a_workspace_adds_entries_and_changes_single_keys(workspace: Workspace) -> None:
    catalogue = own(workspace, '[glaive]\nlicence = "mine"\n\n["our.chats"]\ndomain = "chat"\nrows = 5\ncolumns = ["a"]\n')
    glaive = catalogue.entry("glaive")
    assert (glaive.licence, glaive.hub_id) == ("mine", "glaiveai/glaive-function-calling-v2")
    ours = catalogue.entry("our.chats")
    assert (ours.title, ours.rows, ours.columns, ours.hub_id, ours.gated, ours.evaluation) == ("our.chats", 5, ("a",), None, False, False)
    with pytest.raises(NotInCatalogue, match="mixdown sources"):
        catalogue.entry("nobody")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[x", "not valid TOML"),
        ("title = 1", "stands outside an entry"),
        ('[x]\ndomain = "chat"\ncolour = "red"', r"\[x\]: unknown key 'colour'"),
        ("[x]\n", r"\[x\]: domain must be one of chat"),
        ('[x]\ndomain = "poetry"', "domain must be one of"),
        ('[x]\ndomain = "chat"\nrows = "many"', "rows must be a whole number, not 'many'"),
        ('[x]\ndomain = "chat"\nrows = true', "rows must be a whole number"),
        ('[x]\ndomain = "chat"\ngated = 1', "gated must be true or false"),
        ('[x]\ndomain = "chat"\ncolumns = [1]', "columns must be a list of texts"),
        ('[x]\ndomain = "chat"\ndialect = "klingon"', "dialect 'klingon' is unknown"),
        ('["../up"]\ndomain = "chat"', "cannot be a name"),
    ],
)
def test_a_mistake_is_named_with_file_entry_and_key(workspace: Workspace, text: str, says: str) -> None:
    with pytest.raises(BadCatalogue, match=says) as error:
        own(workspace, text)
    assert "catalogue.toml" in str(error.value)


def test_a_workspace_catalogue_that_cannot_be_decoded_is_a_mistake(workspace: Workspace) -> None:
    workspace.home.mkdir(parents=True)
    Path(workspace.home / "catalogue.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadCatalogue):
        Catalogue.load(workspace)
