import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.mix import Recipe, RecipeError, dump_recipe, load_recipe, parse_recipe, recipe_schema, recipe_text

TEXT = """\
# my first mix
name = "first"
seed = 7  # lucky

[target]
path = "demo"

[budget]
amount = 100

# plenty of these
[[sources]]
name = "openorca"
weight = 40.6  # as in the paper

[[sources]]
name = "glaive"
weight = 6
max_epochs = 2.0
"""


def test_a_written_recipe_is_read_back_equal(tmp_path):
    recipe = parse_recipe(TEXT)
    dump_recipe(recipe, tmp_path / "r.toml")
    assert load_recipe(tmp_path / "r.toml") == recipe
    assert [path.name for path in tmp_path.iterdir()] == ["r.toml"]


def test_comments_and_layout_survive_a_round_trip():
    assert recipe_text(parse_recipe(TEXT), TEXT) == TEXT


def test_a_change_keeps_the_comments_around_it(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(TEXT)
    recipe = parse_recipe(TEXT.replace("40.6", "30.0").replace("seed = 7", "seed = 8").replace("glaive", "xlam"))
    dump_recipe(recipe, path)
    text = path.read_text()
    assert load_recipe(path) == recipe
    assert "weight = 30.0  # as in the paper" in text
    assert "# plenty of these" in text
    assert "seed = 8  # lucky" in text


def test_sources_written_as_an_inline_list_can_be_changed():
    text = 'sources = [{name = "a", weight = 1}]\nseed = 3\n[target]\npath = "x"\n'
    recipe = parse_recipe(text.replace("3", "4"))
    assert parse_recipe(recipe_text(recipe, text)) == recipe


def test_sources_in_another_order_keep_their_comments():
    recipe = parse_recipe(TEXT)
    turned = recipe.model_copy(update={"sources": recipe.sources[::-1]})
    assert recipe_text(turned, TEXT) == TEXT


NAMES = st.sampled_from(["a", "b", "c.d", "e-1"])
FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "min_turns": st.integers(0, 2),
        "max_turns": st.integers(3, 9),
        "languages": st.lists(st.sampled_from(["en", "de"]), min_size=1, max_size=2),
        "has_tools": st.booleans(),
        "match": st.lists(st.sampled_from(["a+", "\\bfoo", 'q"x']), max_size=2),
        "max_nontext": st.floats(0, 1),
    },
)
SOURCES = st.dictionaries(
    NAMES,
    st.fixed_dictionaries(
        {"weight": st.floats(0.01, 1e6)},
        optional={
            "max_epochs": st.floats(0.1, 5),
            "max_rows": st.integers(1, 9),
            "unit": st.sampled_from(["rows", "tokens", "trainable_tokens"]),
            "filters": FILTERS,
            "repairs": st.dictionaries(st.sampled_from(["all", "nul_removed"]), st.sampled_from(["keep", "drop"])),
        },
    ),
    min_size=1,
)
ARGS = st.dictionaries(st.text('ab c"', min_size=1), st.one_of(st.booleans(), st.integers(-9, 9), st.text(), st.lists(st.integers(0, 3))))
RECIPES = st.fixed_dictionaries(
    {
        "target": st.fixed_dictionaries({"path": st.text(min_size=1)}, optional={"template": st.text(), "args": ARGS}),
        "sources": SOURCES.map(lambda sources: [{"name": name, **source} for name, source in sources.items()]),
    },
    optional={
        "seed": st.integers(0, 2**63 - 1),
        "validation": st.sampled_from([0.0, 0.03, 0.5]),
        "budget": st.fixed_dictionaries({}, optional={"amount": st.integers(1, 9), "unit": st.sampled_from(["rows", "tokens"])}),
        "filters": FILTERS,
        "domain_filters": st.dictionaries(st.sampled_from(["chat", "tool calling"]), FILTERS),
        "duplicates": st.fixed_dictionaries({}, optional={"near": st.booleans(), "prefer": st.lists(st.sampled_from("ab"), unique=True)}),
        "contamination": st.fixed_dictionaries(
            {}, optional={"benchmarks": st.lists(st.text("a/b", min_size=1)), "ngram": st.integers(3, 20)}
        ),
        "supervision": st.fixed_dictionaries({}, optional={"thinking": st.sampled_from(["on", "auto"]), "seq_length": st.integers(2, 99)}),
    },
).map(Recipe.model_validate)


@given(RECIPES, RECIPES)
def test_any_recipe_can_be_written_over_any_other(old, new):
    assert parse_recipe(recipe_text(new)) == new
    written = parse_recipe(recipe_text(new, "# mine\n" + recipe_text(old)))
    assert written.digest == new.digest


def test_a_source_that_is_not_toml_any_more_is_replaced(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text("[[[")
    dump_recipe(parse_recipe(TEXT), path)
    assert load_recipe(path) == parse_recipe(TEXT)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("weight = 6", "weigth = 6", ["line 18", "sources.2.weigth", "did you mean weight?"]),
        ("weight = 6", "weight = -6", ["line 18", "sources.2.weight", "found -6", "greater than or equal to 0"]),
        ("seed = 7", 'seed = "seven"', ["line 3", "seed", "'seven'", "integer"]),
        ('path = "demo"', 'pathh = "demo"', ["line 6", "target.pathh", "did you mean path?"]),
        ("amount = 100", "amount = 0", ["line 9", "budget.amount", "found 0"]),
        ("weight = 6\n", "", ["line 16", "sources.2.weight is missing"]),
        ("seed = 7", "seed = ", ["line 3", "not valid TOML"]),
        ('name = "glaive"', 'name = "openorca"', ["openorca stands in it more than once"]),
        ("[budget]", "[zebra]", ["line 8", "zebra is not a key", "use one of name, seed"]),
    ],
)
def test_a_mistake_names_the_line_the_key_and_the_fix(old, new, said):
    assert old in TEXT
    with pytest.raises(RecipeError) as error:
        parse_recipe(TEXT.replace(old, new), "r.toml")
    assert all(words in str(error.value) for words in ["r.toml", *said]), str(error.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_is_no_recipe_is_one_sentence(tmp_path, content):
    path = tmp_path / "r.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RecipeError, match=r"r\.toml"):
        load_recipe(path)


RULES = """\
[target]
path = "demo"

[filters]  # for all
min_turns = 2

[domain_filters."tool calling"]
has_tools = true

[[sources]]
name = "a"
weight = 1

[[sources]]
name = "b"
weight = 2
unit = "tokens"

[sources.filters]
# only short ones
max_chars = 4000

[sources.repairs]
nul_removed = "drop"
"""


def test_rules_and_their_comments_survive_a_round_trip_and_a_change():
    recipe = parse_recipe(RULES)
    assert recipe_text(recipe, RULES) == RULES
    entry = recipe.source("b")
    changed = entry.model_copy(update={"filters": entry.filters.model_copy(update={"max_chars": 99, "has_reasoning": True})})
    text = recipe_text(recipe.model_copy(update={"sources": (recipe.sources[0], changed)}), RULES)
    assert "# only short ones\nmax_chars = 99\nhas_reasoning = true" in text
    assert parse_recipe(text).source("b") == changed


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("max_chars", "max_char", ["line 21", "sources.2.filters.max_char", "did you mean max_chars?"]),
        ("min_turns = 2", "min_turn = 2", ["line 5", "filters.min_turn", "did you mean min_turns?"]),
        ("has_tools", "has_tool", ["line 8", "domain_filters.tool calling.has_tool", "did you mean has_tools?"]),
        ('"tool calling"', '"tools"', ["line 7", "'tools' is not a domain", "tool calling"]),
        ("nul_removed", "nul_remove", ["'nul_remove' is no repair", "did you mean nul_removed?"]),
        ('unit = "tokens"', 'unit = "token"', ["line 17", "sources.2.unit", "'rows', 'tokens' or 'trainable_tokens'"]),
        ("min_turns = 2", "min_turns = 9\nmax_turns = 3", ["line 4", "min_turns = 9 is above max_turns = 3", "swap them"]),
        ("min_turns = 2", 'match = ["("]', ["line 5", "is not a regular expression"]),
        ("min_turns = 2", "languages = []", ["line 5", "lets no row pass"]),
    ],
)
def test_a_wrong_rule_gives_line_key_and_fix(old, new, said):
    with pytest.raises(RecipeError) as error:
        parse_recipe(RULES.replace(old, new, 1), "mix.toml")
    assert all(part in str(error.value) for part in said), str(error.value)


def test_the_schema_names_every_key_and_what_it_means():
    schema = recipe_schema()
    assert set(schema["properties"]) == set(Recipe.model_fields)
    assert schema["additionalProperties"] is False
    assert "case does not count" in schema["$defs"]["Filters"]["properties"]["match"]["description"]
    assert schema["$defs"]["Budget"]["properties"]["unit"]["enum"] == ["rows", "tokens", "trainable_tokens"]
