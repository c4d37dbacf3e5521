"""Recipes and their rules by command, as a shell or a program would use them."""

import json
import tomllib

import pytest

from core.workspace import BUNDLED_TARGET

RECIPE = f"""\
name = "mine"
validation = 0.0

[target]
path = "{BUNDLED_TARGET}"

[duplicates]
exact = true

[[sources]]
name = "sums"
weight = 3  # plenty

[sources.filters]
max_chars = 60

[[sources]]
name = "talks"
weight = 1
"""


@pytest.fixture
def recipe(mixdown, tmp_path):
    """Forty sums, of which one is long and two are equal, and thirty talks that repeat five sums."""

    def write(name, rows):
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps({"messages": [{"role": r, "content": c} for r, c in row]}) for row in rows))
        mixdown("import", path, "--name", name)

    sums = [[("user", f"What is {n} and one?"), ("assistant", f"It is {n + 1}.")] for n in range(38)]
    sums += [[("user", "What is 0  and ONE?"), ("assistant", "It is 1.")], [("user", "word " * 30), ("assistant", "Yes.")]]
    write("sums", sums)
    write("talks", [*sums[5:10], *([("user", f"Tell me of {n} please"), ("assistant", "So be it.")] for n in range(25))])
    path = tmp_path / "mine.toml"
    path.write_text(RECIPE)
    return path


def test_rules_say_what_they_remove_and_the_plan_follows(mixdown, recipe, tmp_path):
    (filtered,) = mixdown("mix", "filters", recipe, "--json").rows
    assert (filtered["source"], filtered["rule"], filtered["alone"], filtered["first"]) == ("sums", "max_chars = 60", 1, 1)
    assert filtered["examples"][0]["row"] == 39

    found = mixdown("mix", "duplicates", recipe, "--json").value
    assert found["groups"] == 6
    assert found["removed"] == {"sums": 1, "talks": 5}
    assert {"sources": ["sums", "talks"], "groups": 5} in found["between"]

    planned = mixdown("plan", recipe, "--no-estimate", "--json").value
    assert {part["name"]: (part["available"], part["removed"]) for part in planned["sources"]} == {
        "sums": (38, {"max_chars = 60": 1, "duplicates": 1}),
        "talks": (25, {"duplicates": 5}),
    }

    test_set = tmp_path / "exam.jsonl"
    test_set.write_text(json.dumps({"question": "word " * 13}) + "\n")
    report = mixdown("mix", "contamination", recipe, "--benchmark", test_set, "--json").value
    assert report["dropped"] == {"sums": 1, "talks": 0}
    assert report["groups"][0]["name"] == "exam:0"
    assert report["matches"][0]["in_row"]["span"].split() == ["word"] * len(report["matches"][0]["in_row"]["span"].split())
    assert report["matches"][0]["in_benchmark"]["span"]

    licences = mixdown("mix", "licences", recipe, "--json").value
    assert licences["commercial"] == "unclear"
    assert licences["licences"][0]["sources"] == ["sums", "talks"]
    assert "does not say" in licences["warnings"][0]


def test_recipes_are_checked_weighed_saved_and_compared(mixdown, recipe, tmp_path):
    assert mixdown("mix", "check", recipe, "--json").value["name"] == "mine"
    assert mixdown("mix", "save", recipe, "--json").value["version"] == 1
    text = mixdown("mix", "weigh", "mine", "--share", "other=50", "--json", code=2)
    assert "Every source is of that kind" in text.err or "No source of the recipe" in text.err
    weighed = mixdown("mix", "weigh", "mine", "--set", "sums=1", "--save")
    assert [entry["weight"] for entry in tomllib.loads(weighed.out)["sources"]] == [1, 3]
    assert "# plenty" in weighed.out
    assert [version["number"] for version in mixdown("mix", "versions", "mine", "--json").rows] == [2, 1]
    changes = mixdown("mix", "diff", "mine@1", "mine", "--json").value["changes"]
    assert changes == ["sums: weight 3 → 1", "talks: weight 1 → 3"]
    mixdown("mix", "restore", "mine", "1")
    assert mixdown("mix", "diff", recipe, "mine", "--json").value["changes"] == []
    listed = {entry["name"]: entry["example"] for entry in mixdown("mix", "list", "--json").rows}
    assert listed == {"mine": False, "mission": True}

    broken = tmp_path / "broken.toml"
    broken.write_text(RECIPE.replace("max_chars", "max_char"))
    said = " ".join(mixdown("mix", "check", broken, code=2).err.split())
    assert "line 15" in said and "did you mean max_chars?" in said
    assert mixdown("mix", "schema").value["title"] == "A Mixdown recipe"


def test_tokens_are_estimated_with_their_error_then_counted(mixdown, recipe):
    text = recipe.read_text().replace("max_chars = 60", "max_tokens = 40").replace("weight = 1\n", 'weight = 60\nunit = "tokens"\n')
    recipe.write_text(text)
    measured = mixdown("mix", "measure", recipe, "--json").value["sources"]
    planned = mixdown("plan", recipe, "--json").value
    parts = {part["name"]: part for part in planned["sources"]}
    assert all(part["exact"] and part["tokens_error"] == 0 for part in parts.values())
    assert parts["sums"]["removed"]["max_tokens = 40"] == 1
    assert 0 < parts["talks"]["tokens"] <= measured["talks"]["tokens"]
