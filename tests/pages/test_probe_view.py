from core.chat import Target, probe
from core.workspace import BUNDLED_TARGET
from pages.components.probe_view import probe_table

REFUSING = """{%- if messages[0].role != 'user' %}{{ raise_exception('Begin with <b>the user</b>.') }}{% endif -%}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def test_refusals_stand_out_and_the_templates_own_words_are_text(tmp_path):
    (tmp_path / "t.jinja").write_text(REFUSING)
    shown = probe_table(probe(Target.load(BUNDLED_TARGET, tmp_path / "t.jinja")))
    assert "✗" in shown and "✓" in shown
    assert "<b>the user" not in shown and "&lt;b&gt;the user" in shown
