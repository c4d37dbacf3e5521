"""Loading a target: what is found, and one clear sentence for each thing that is not there."""

import json
import subprocess
import sys

import pytest

from core.chat import Target, TargetMissing, TargetUnavailable, TemplateMissing, TokenizerMissing
from core.chat.hub import looks_like_hub_id
from core.conversation import Conversation, Message
from core.errors import InputError
from tests.chat.targets import make_target


def test_a_folder_is_loaded_with_its_token_roles(tmp_path):
    folder = make_target(tmp_path, "{{ eos_token }}", {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>", "mask_token": "<|mask|>"})
    (folder / "config.json").write_text(json.dumps({"eos_token_id": 3, "hidden_size": 8}), encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [5, 3]}), encoding="utf-8")
    target = Target.load(folder)
    assert target.config["hidden_size"] == 8
    assert [target.encoder.token(i) for i in (target.eos_id, target.pad_id, target.mask_id)] == ["<|im_end|>", "<|endoftext|>", "<|mask|>"]
    assert target.stop_ids == (5, 3, target.eos_id)


def test_a_template_file_and_arguments_take_the_place_of_the_models_own(tmp_path):
    folder = make_target(tmp_path / "t", "own")
    (tmp_path / "other.jinja").write_text("{{ style }} {{ eos_token }}", encoding="utf-8")
    target = Target.load(str(folder), tmp_path / "other.jinja", {"style": "calm"})
    assert target.template.render(Conversation((Message("user", "x"),))) == "calm <|im_end|>"


def _without_tokenizer(path):
    folder = make_target(path, "x")
    (folder / "tokenizer.json").unlink()
    return folder


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda path: path / "no/such/folder", TargetMissing, "There is no folder"),
        (lambda path: make_target(path, None), TemplateMissing, "--template"),
        (_without_tokenizer, TokenizerMissing, "tokenizer.json"),
        (lambda path: make_target(path, "x") / "tokenizer.json", TargetMissing, "is a file"),
    ],
)
def test_what_is_missing_is_said_in_one_sentence(tmp_path, make, error, words):
    with pytest.raises(error, match=words) as caught:
        Target.load(make(tmp_path))
    assert isinstance(caught.value, InputError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "yes"),
    [("Qwen/Qwen3-0.6B", True), ("a/b@main", True), ("gpt2", True), ("../x", False), ("/tmp/x", False), ("a/b/c", False), ("./a", False)],
)
def test_hub_ids_are_told_from_paths(name, yes):
    assert looks_like_hub_id(name) is yes


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ("GatedRepoError", "accept its terms"),
        ("RepositoryNotFoundError", "no model of that name"),
        ("RevisionNotFoundError", "no revision 'v9'"),
        ("LocalEntryNotFoundError", "go online"),
        ("OfflineModeIsEnabled", "go online"),
        ("ConnectionError", "go online"),
    ],
)
def test_each_way_the_hub_can_say_no_has_its_own_advice(monkeypatch, error, words):
    import huggingface_hub
    from huggingface_hub import errors

    kind = getattr(errors, error, ConnectionError)

    def refuse(*args, **kwargs):
        raise kind.__new__(kind)  # the hub's own errors want a response of whichever HTTP library it uses

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(TargetUnavailable, match=words) as caught:
        Target.load("owner/model@v9")
    assert "\n" not in str(caught.value)


def test_a_hub_target_is_loaded_from_where_the_hub_put_it(monkeypatch, tmp_path):
    import huggingface_hub

    asked = {}

    def give(repo, revision, allow_patterns, **kwargs):
        asked.update(repo=repo, revision=revision, patterns=allow_patterns)
        return str(make_target(tmp_path, "hi"))

    monkeypatch.setattr(huggingface_hub, "snapshot_download", give)
    assert Target.load("owner/model@v2").path == tmp_path
    assert (asked["repo"], asked["revision"]) == ("owner/model", "v2")
    assert not any("safetensors" in pattern for pattern in asked["patterns"])


def test_loading_the_package_brings_in_no_heavy_library():
    code = (
        "import sys, core.chat; print([name for name in ('torch', 'transformers', 'datasets', 'huggingface_hub') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
