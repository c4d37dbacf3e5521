"""Rendering: the same bytes as transformers, refusals in the template's words, templates found where transformers finds them."""

import json
from datetime import datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.chat import ChatTemplate, Target, TemplateBroken, TemplateMissing, TemplateRefused
from core.chat.template import BadTemplateArgument
from core.chat.tokenizer_config import BadTargetFile
from core.conversation import Conversation, Message, ToolCall
from tests.chat.conftest import ALL
from tests.chat.conversations import conversations
from tests.chat.targets import make_target

HELLO = Conversation((Message("user", "Hi"), Message("assistant", "Hello.")))


@pytest.mark.parametrize("name", ALL)
def test_every_template_renders_the_same_bytes_as_transformers(name, targets, reference):
    target = targets(name)

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        conversations(),
        st.booleans(),
        st.sampled_from([{}, {"enable_thinking": True}, {"enable_thinking": False}, {"preserve_thinking": True}]),
    )
    def check(conversation, prompt, args):
        expected = reference(name, conversation, add_generation_prompt=prompt, **args)
        try:
            text = target.template.render(conversation, add_generation_prompt=prompt, **args)
        except TemplateRefused:
            text = None
        assert text == expected

    check()


@pytest.mark.parametrize("name", ALL)
def test_a_traced_render_is_the_plain_render_and_its_spans_cover_it(name, targets):
    target = targets(name)

    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
    @given(conversations())
    def check(conversation):
        try:
            text = target.template.render(conversation)
        except TemplateRefused:
            return
        traced = target.template.trace(conversation)
        assert traced.text == text
        assert traced.exact
        assert "".join(text[span.start : span.end] for span in traced.spans) == text

    check()


def test_a_refusal_carries_the_templates_own_words_and_a_short_code():
    template = ChatTemplate("{{ raise_exception('No user query found in messages.') }}")
    with pytest.raises(TemplateRefused, match=r"^No user query found in messages\.$") as caught:
        template.render(HELLO)
    assert caught.value.code == "no_user_query_found_in_messages"


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages[0].content + none }}",
        "{{ messages[7].content }}",
        "{{ messages.append(1) }}",
        "{{ 1 // 0 }}",
        "{{ ''.__class__.__mro__ }}",
    ],
)
def test_a_template_that_breaks_or_reaches_out_of_the_sandbox_is_a_refusal_too(source):
    with pytest.raises(TemplateRefused) as caught:
        ChatTemplate(source + "{{ x.y }}").render(HELLO)
    assert caught.value.code == "template_error"
    assert "\n" not in caught.value.message


def test_a_template_that_is_no_jinja_names_its_line(tmp_path):
    path = tmp_path / "bad.jinja"
    path.write_text("fine\n{% if %}", encoding="utf-8")
    with pytest.raises(TemplateBroken, match=r"bad\.jinja.*line 2"):
        ChatTemplate.from_file(path)


def test_a_missing_template_file_is_named(tmp_path):
    with pytest.raises(TemplateMissing, match=r"nowhere\.jinja"):
        ChatTemplate.from_file(tmp_path / "nowhere.jinja")


def test_a_folder_without_template_says_what_to_do(tmp_path):
    with pytest.raises(TemplateMissing, match="--template"):
        ChatTemplate.from_folder(make_target(tmp_path, None))


def test_the_date_is_fixed_unless_one_is_chosen(tmp_path):
    source = "{{ strftime_now('%Y-%m-%d') }}"
    assert ChatTemplate(source).render(HELLO) == "2026-01-01"
    assert ChatTemplate(source, date=datetime(2031, 2, 3)).render(HELLO) == "2031-02-03"


def test_named_templates_are_chosen_by_whether_there_are_tools(tmp_path):
    entries = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]
    folder = make_target(tmp_path, None, config={"chat_template": entries})
    template = ChatTemplate.from_folder(folder)
    assert template.render(HELLO) == "plain"
    assert template.render(Conversation(HELLO.messages, ({"type": "function", "function": {"name": "f"}},))) == "tools"


def test_files_win_over_the_config_and_further_ones_have_their_own_folder(tmp_path):
    folder = make_target(tmp_path, "from file", config={"chat_template": "from config"})
    (folder / "additional_chat_templates").mkdir()
    (folder / "additional_chat_templates" / "tool_use.jinja").write_text("tools", encoding="utf-8")
    assert ChatTemplate.from_folder(folder).sources == {"default": "from file", "tool_use": "tools"}


def test_the_config_alone_is_enough(tmp_path):
    assert ChatTemplate.from_folder(make_target(tmp_path, None, config={"chat_template": "from config"})).render(HELLO) == "from config"


def test_a_config_with_a_list_of_something_else_is_an_error(tmp_path):
    with pytest.raises(BadTargetFile, match="chat_template"):
        ChatTemplate.from_folder(make_target(tmp_path, None, config={"chat_template": ["x"]}))


def test_special_tokens_are_variables_and_arguments_overrule_them(tmp_path):
    folder = make_target(tmp_path, "{{ eos_token }}{{ pad_token }}{{ colour }}", config={"image_token": "<img>"})
    target = Target.load(folder, args={"colour": "blue"})
    assert target.template.render(HELLO) == "<|im_end|><|endoftext|>blue"
    assert target.template.render(HELLO, colour="red", pad_token="") == "<|im_end|>red"


@pytest.mark.parametrize("args", [{"messages": []}, {"add_generation_prompt": True}, {"not a name": 1}, {"x": object()}, {"x": {1: 2}}])
def test_arguments_that_cannot_be_passed_are_refused(args):
    with pytest.raises(BadTemplateArgument):
        ChatTemplate("x", args=args)


def test_arguments_the_template_never_reads_are_known():
    assert ChatTemplate("{{ colour }}", args={"colour": 1, "color": 2}).unread_args == ("color",)


def test_null_values_of_raw_messages_are_left_out_as_transformers_does():
    template = ChatTemplate("{{ 'content' in messages[0] }}")
    assert template.render(([{"role": "user", "content": None}], None)) == "False"


def test_reasoning_is_found_under_each_name_in_use():
    template = ChatTemplate("{{ messages[0].thinking }}|{{ messages[0].reasoning_content }}")
    assert template.render(([{"role": "assistant", "content": "", "reasoning_content": "why"}], None)) == "why|why"


def test_tool_calls_stand_in_openai_form():
    conversation = Conversation((Message("assistant", "", tool_calls=(ToolCall("c", "f", {"é": None, "b": "<>"}),)),))
    text = ChatTemplate("{{ messages[0].tool_calls | tojson }}").render(conversation)
    assert json.loads(text) == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": {"é": None, "b": "<>"}}}]
    assert "é" in text
    assert "<>" in text


def test_private_use_characters_in_content_do_not_confuse_the_trace(targets):
    text = "".join(chr(0xF0000 + place) for place in range(5)) + "1\U000f00002"
    conversation = Conversation((Message("user", text), Message("assistant", text)))
    traced = targets("generation").template.trace(conversation)
    assert traced.exact
    assert [span.message for span in traced.spans] == [0, 1]
    assert [traced.text[start:end] for start, end in traced.generations] == [text + "<|im_end|>"]
