"""Training batches: answers marked, unused tools left out, drills that are right."""

import itertools
import random
import re

from tokenizers import Tokenizer

from data.generator import calls, drills
from data.generator.batches import batches, encoded, lean
from data.generator.corpus import conversations
from data.generator.rendering import TARGET, render

TOKENIZER = Tokenizer.from_file(str(TARGET / "tokenizer.json"))


def test_a_batch_holds_at_most_its_tokens_and_marks_only_answers() -> None:
    end = TOKENIZER.token_to_id("<|im_end|>")
    for batch in itertools.islice(batches(TOKENIZER, "test", 2048, 640), 3):
        assert batch.ids.shape == batch.answer.shape
        assert batch.ids.size <= 2048
        assert batch.answer.any(axis=1).all()
        last = batch.answer.shape[1] - 1 - batch.answer[:, ::-1].argmax(axis=1)
        assert (batch.ids[range(len(last)), last] == end).all()


def test_rows_are_the_tokens_of_the_whole_text() -> None:
    for talk in itertools.islice(conversations("tokens"), 60):
        last = encoded(TOKENIZER, talk)[0]
        assert last[0] == TOKENIZER.encode(render(talk).removesuffix("\n"), add_special_tokens=False).ids


def test_a_lean_conversation_offers_the_tools_it_calls_and_no_others() -> None:
    rng = random.Random("lean")
    for talk in (calls.any_talk(rng) for _ in range(100)):
        offered = {tool["function"]["name"] for tool in lean(talk).tools}
        called = {call.name for message in talk.messages for call in message.tool_calls}
        assert offered == called or (not called and len(offered) == 1)


def test_drilled_sums_are_right_and_drilled_calls_copy_the_request() -> None:
    rng = random.Random("drills")
    for _ in range(100):
        for left, right, total in re.findall(r"(\d+) \+ (\d+) = (\d+)", drills.sums(rng).messages[1].content):
            assert int(left) + int(right) == int(total)
        ask, answer = drills.call(rng).messages
        for call in answer.tool_calls:
            assert all(f"{key} {value}" in ask.content for key, value in call.arguments.items())
