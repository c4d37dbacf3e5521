from core.chat import RenderedPart
from pages.components import rendered_view as module
from pages.components.rendered_view import pages_of, rendered_view


def test_every_part_names_its_message_and_is_inert():
    shown = rendered_view([RenderedPart("<script>\x1b[31m", 0, "user", "user message 1"), RenderedPart("!", None, "template", "template")])
    assert "<script>" not in shown and "ESC" in shown
    assert 'class="md-part user"' in shown and "<b>user message 1</b>" in shown
    assert 'class="md-part template"' in shown


def test_a_long_render_comes_in_pages_that_spell_it_out(monkeypatch):
    monkeypatch.setattr(module, "LONGEST", 4)
    parts = [RenderedPart("abcdef", 0, "user", "u"), RenderedPart("ghi", 1, "assistant", "a")]
    pages = pages_of(parts)
    assert ["".join(part.text for part in page) for page in pages] == ["abcd", "efgh", "i"]
    assert [part.message for page in pages for part in page] == [0, 0, 1, 1]
