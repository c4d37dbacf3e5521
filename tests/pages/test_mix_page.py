"""The Mix page without a browser: every control changes the recipe on screen, shows its effect, and can be taken back."""

import json

import pytest

from core.jobs import CheckJob, perform_here
from core.mix import Recipe, load_recipe, recipe_text, recipe_versions, save_recipe, save_recipe_text
from core.sources import import_source
from core.workspace import BUNDLED_TARGET
from tests.pages.test_screens import open_page


@pytest.fixture
def mix(home, tmp_path):
    """Two sources of different domains; the second repeats ten rows of the first."""
    for name, first, rows, domain in (("talk", 0, 40, "chat"), ("calls", 30, 20, "tool calling")):
        said = (
            [
                {"role": "user", "content": f"What is {row} plus one?"},
                {"role": "assistant", "content": f"It is {row + 1}, which is a number."},
            ]
            for row in range(first, first + rows)
        )
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps({"messages": turns}) + "\n" for turns in said))
        import_source(home, name, tmp_path / f"{name}.jsonl", domain=domain, licence="mit" if name == "talk" else "cc-by-nc-4.0")
    save_recipe(home, recipe())
    return home


def recipe(**changes):
    sources = [{"name": "talk", "weight": 40}, {"name": "calls", "weight": 20}]
    return Recipe.model_validate({"name": "mine", "validation": 0, "target": {"path": str(BUNDLED_TARGET)}, "sources": sources} | changes)


def at(app, kind, label):
    [found] = [widget for widget in getattr(app, kind) if widget.label == label]
    return found


def press(app, label):
    at(app, "button", label).click().run()
    assert not app.exception, app.exception[0].stack_trace


def unfolded(app, key):
    """Open a popover for one run; without a browser it closes itself at the next."""
    app.session_state[key] = True
    app.run()
    assert not app.exception, app.exception[0].stack_trace


def draft(app):
    return app.session_state["mix-drafts"]["mine"].recipe


def section(app, name):
    app.segmented_control(key="section").set_value(name).run()
    assert not app.exception, app.exception[0].stack_trace
    return app


def texts(app):
    return " ".join([*(one.value for one in app.caption), *(one.value for one in app.markdown), *(html_of(app))])


def html_of(app):
    return [one.proto.body for one in app.get("html")]


def test_a_kept_weight_stays_while_the_others_make_room(mix):
    app = open_page("mix")
    at(app, "checkbox", "Keep the weight of talk").check().run()
    at(app, "number_input", "Weight of calls, exactly").set_value(35.0).run()
    # There is nobody else to make room, so it moves alone; a second source would have scaled.
    assert [entry.weight for entry in draft(app).sources] == [40, 35]
    at(app, "checkbox", "Keep the weight of talk").uncheck().run()
    at(app, "number_input", "Weight of calls, exactly").set_value(15.0).run()
    assert [entry.weight for entry in draft(app).sources] == [60, 15]
    assert at(app, "slider", "Weight of talk").value == 60


def test_undo_and_redo_take_every_change_back_and_again(mix):
    app = open_page("mix")
    at(app, "number_input", "Weight of calls, exactly").set_value(5.0).run()
    at(app, "toggle", "Limit the total").set_value(True).run()
    at(app, "selectbox", "Unit of the total").set_value("tokens").run()
    tokens = at(app, "number_input", "Tokens in all").value
    assert tokens > 45
    at(app, "toggle", "Let others fill in").set_value(True).run()
    states = [draft(app)]
    while not at(app, "button", "Undo").disabled:
        press(app, "Undo")
        states.append(draft(app))
    assert len(states) == 5 and states[-1] == recipe()
    assert at(app, "number_input", "Weight of calls, exactly").value == 20
    for before in states[-2::-1]:
        press(app, "Redo")
        assert draft(app) == before
    assert at(app, "number_input", "Tokens in all").value == tokens


def test_presets_weigh_all_sources_at_once(mix):
    save_recipe(mix, recipe(name="other", sources=[{"name": "talk", "weight": 1}, {"name": "calls", "weight": 3}]))
    app = open_page("mix", recipe="mine")
    for label, weights in (("Equal", [1, 1]), ("Proportional", [40, 20]), ("Weights like it", [1, 3])):
        unfolded(app, "mix-presets")
        press(app, label)
        assert [entry.weight for entry in draft(app).sources] == weights
    unfolded(app, "mix-presets")
    at(app, "selectbox", "Domain").set_value("tool calling")
    unfolded(app, "mix-presets")
    at(app, "number_input", "Its share in %").set_value(20.0)
    unfolded(app, "mix-presets")
    press(app, "Give it this share")
    talk, calls = (entry.weight for entry in draft(app).sources)
    assert calls / (talk + calls) == pytest.approx(0.2)
    unfolded(app, "mix-presets")
    press(app, "By temperature")
    talk, calls = (entry.weight for entry in draft(app).sources)
    assert talk / calls == pytest.approx(2**0.5)


def test_unit_and_caps_stand_in_each_line(mix):
    app = open_page("mix")
    for kind, label, value in (
        ("number_input", "Epoch cap of calls", 2.5),
        ("number_input", "Row cap of calls", 45),
        ("selectbox", "Unit of the weight of calls", "trainable_tokens"),
    ):
        unfolded(app, "mix-settings-mine-calls")
        at(app, kind, label).set_value(value).run()
    entry = draft(app).source("calls")
    assert (entry.max_epochs, entry.max_rows, entry.unit) == (2.5, 45, "trainable_tokens")
    assert any("each row up to 2.5 times" in warning.value.replace("\\", "") for warning in app.warning)


def test_a_filter_shows_how_many_rows_it_removes_and_ten_of_them(mix):
    app = section(open_page("mix"), "filters")
    at(app, "number_input", "Characters to").set_value(47).run()
    [table] = app.dataframe
    removed = int(table.value["Rows that fail it"].iloc[0])
    assert 0 < removed < 60
    assert sum(body.count("<tr>") for body in html_of(app) if "md-ten" in body) == min(10, removed)
    assert f"{removed} of 60 rows go" in texts(app)
    at(app, "number_input", "Characters from").set_value(900).run()
    assert any("no row can pass" in warning.value.replace("\\", "") for warning in app.warning)
    assert draft(app).filters.min_chars is None
    app.selectbox(key="mix-filter-scope-mine").set_value(3).run()  # all, two domains, then the first source
    at(app, "selectbox", "Tools").set_value(True).run()
    assert draft(app).source("talk").filters.has_tools is True
    assert any("No row of talk is left" in error.value.replace("\\", "") for error in app.error)


def test_a_filter_that_has_to_read_every_text_waits_for_a_run_and_nothing_else_does(mix):
    app = section(open_page("mix"), "filters")
    at(app, "text_area", "Must not match").set_value("plus one").run()
    assert "matches of plus one of 60 rows" in texts(app).replace("\\", "")
    assert "<b>60</b><span>conversations" in texts(app)
    assert "Work it out" in [button.label for button in app.button]


def test_duplicates_are_counted_and_shown_group_by_group_once_they_were_looked_for(mix):
    app = section(open_page("mix"), "duplicates")
    at(app, "toggle", "Equal rows").set_value(True).run()
    assert "Work it out" in [button.label for button in app.button]
    perform_here(CheckJob(home=mix.home, recipe=recipe_text(draft(app))))
    app.run()
    assert "Work it out" not in [button.label for button in app.button]
    assert "20 rows in 10 groups; 10 rows" in texts(app)
    assert sum("2 rows, equal" in body for body in html_of(app)) == 10
    at(app, "multiselect", "Whose row stays, the most preferred first").set_value(["talk"]).run()
    assert any("10 of 20 rows not usable: 10 by duplicates" in body for body in html_of(app))


def test_matches_with_a_benchmark_show_the_span_in_both_texts_and_are_kept_or_dropped_by_group(mix, tmp_path):
    exam = tmp_path / "exam.jsonl"
    exam.write_text(json.dumps({"question": "Somebody asks: What is 35 plus one? It is 36, which is a number. Thanks."}) + "\n")
    app = section(open_page("mix"), "contamination")
    at(app, "number_input", "Words in a row").set_value(8).run()
    at(app, "text_area", "Benchmarks").set_value(str(exam)).run()
    perform_here(CheckJob(home=mix.home, recipe=recipe_text(draft(app))))
    app.run()
    assert "1 text of the benchmarks is repeated; 2 rows dropped" in texts(app)
    spans = [body for body in html_of(app) if "<mark>" in body]
    assert len(spans) == 2 and all(body.count("<mark>") == 2 and "35 plus one" in body for body in spans)
    at(app, "toggle", "Keep these rows").set_value(True).run()
    assert draft(app).contamination.keep == ("exam:0",)
    assert "0 rows dropped" in texts(app)


def test_the_strictest_licence_stands_first_with_a_warning(mix):
    app = open_page("mix")
    assert "parts exclude commercial use" in " ".join(one.label for one in app.expander)
    table = next(body for body in html_of(app) if "cc-by-nc-4.0" in body and "mit" in body)
    assert table.index("cc-by-nc-4.0") < table.index(">mit")
    assert any("excludes commercial use" in body for body in html_of(app))


def test_history_compares_versions_and_brings_an_older_one_back(mix):
    app = open_page("mix")
    at(app, "number_input", "Weight of calls, exactly").set_value(5.0).run()
    press(app, "Save recipe")
    section(app, "history")
    assert "calls: weight 20 → 5" in [code.value for code in app.code]
    press(app, "Make version 1 the newest again")
    assert load_recipe(mix.recipe("mine")).source("calls").weight == 20
    assert [version.number for version in recipe_versions(mix, "mine")] == [3, 2, 1]
    assert at(app, "number_input", "Weight of calls, exactly").value == 20


def test_a_copy_keeps_the_comments_and_the_command_says_all_that_is_on_screen(mix):
    save_recipe_text(mix, "# my reasons\n" + mix.recipe("mine").read_text())
    app = section(open_page("mix"), "files")
    assert "mixdown plan mine" in app.code[-1].value and "cat >" not in app.code[-1].value
    at(app, "number_input", "Weight of calls, exactly").set_value(5.0).run()
    command = app.code[-1].value
    assert command.startswith("cat > mine.toml <<'MIXDOWN'\n# my reasons") and "weight = 5" in command
    press(app, "Save a copy")
    text = mix.recipe("mine-2").read_text()
    assert text.startswith("# my reasons") and load_recipe(mix.recipe("mine-2")).source("calls").weight == 5
    assert load_recipe(mix.recipe("mine")).source("calls").weight == 20


def test_an_example_that_ships_can_be_taken_without_its_sources(mix):
    app = section(open_page("mix"), "files")
    press(app, "Take it")
    assert mix.recipe("mission").read_text().startswith("# A general mix")
    assert app.session_state["switch-recipe-to"] == "mission"  # the sidebar takes it from there


def test_a_target_switched_beside_the_page_keeps_what_is_not_saved(mix):
    app = open_page("mix")
    at(app, "number_input", "Weight of calls, exactly").set_value(5.0).run()
    save_recipe(mix, recipe(target={"path": str(BUNDLED_TARGET), "args": {"mood": "calm"}}))
    app.run()
    assert draft(app).source("calls").weight == 5 and draft(app).target.args == {"mood": "calm"}
    press(app, "Undo")
    assert draft(app).target.args == {"mood": "calm"} and draft(app).source("calls").weight == 20
