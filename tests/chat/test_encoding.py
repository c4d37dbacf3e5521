"""Ids, bytes and characters of tokens; added tokens recognised, or read as plain text on request."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from core.chat import TokenizerEncoder, TokenizerMissing, UnencodableText
from core.chat.token_bytes import byte_alphabet, byte_offsets
from core.chat.tokenizer_config import BadTargetFile, TokenizerConfig
from tests.chat.conversations import texts
from tests.chat.targets import CHATML, TAGS, make_target, tokenizer_json

RELAXED = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
MIXED = st.lists(st.one_of(texts(), st.sampled_from([*CHATML, *TAGS, "[INST]", "<|im_", "end|>"])), max_size=5).map("".join)


@pytest.fixture(scope="module")
def encoder() -> TokenizerEncoder:
    return TokenizerEncoder(Tokenizer.from_str(tokenizer_json()))


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(make_target(tmp_path_factory.mktemp("plain"), None))


def sentencepiece_like() -> TokenizerEncoder:
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}, "\u2581": 257, "a": 258, "\u2581a": 259}
    tokenizer = Tokenizer(models.BPE(vocab, [("\u2581", "a")], unk_token="<unk>", byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    return TokenizerEncoder(tokenizer)


@RELAXED
@given(text=MIXED)
def test_ids_are_those_of_transformers(encoder, reference, text):
    assert encoder.encode(text) == reference(text, add_special_tokens=False)["input_ids"]


@RELAXED
@given(text=MIXED)
def test_plain_ids_hold_no_added_token_and_are_those_of_transformers_plain_encoding(encoder, reference, text):
    ids = encoder.encode_plain(text)
    assert encoder.added.keys().isdisjoint(ids)
    assert ids == reference._encode_without_added_tokens(text)


@RELAXED
@given(text=MIXED)
def test_the_bytes_of_the_tokens_are_the_bytes_of_the_text(encoder, text):
    joined = b"".join(encoder.token_bytes(token_id) for token_id in encoder.encode(text))
    assert joined == encoder.normalize(text).encode()
    assert encoder.decode(encoder.encode(text)) == joined.decode("utf-8", "replace")


@RELAXED
@given(text=MIXED)
def test_every_character_lies_in_a_token_and_tokens_stand_in_order(encoder, text):
    text = encoder.normalize(text)
    ids, offsets = encoder.encode_with_offsets(text)
    assert ids == encoder.encode(text)
    assert len(offsets) == len(ids)
    covered = {character for start, end in offsets for character in range(start, end)}
    assert covered == set(range(len(text)))
    assert offsets == sorted(offsets)


def test_offsets_keep_whitespace_that_a_tokenizer_trims_from_its_own():
    assert byte_offsets("a  é\n", [b"a", b"  ", b"\xc3", b"\xa9", b"\n"]) == [(0, 1), (1, 3), (3, 4), (3, 4), (4, 5)]
    assert byte_offsets("é", [b"e"]) is None


def test_byte_fallback_pieces_are_single_bytes_and_the_visible_space_is_a_space():
    encoder = sentencepiece_like()
    ids = encoder.encode(" a🙂")
    assert [encoder.token_bytes(token_id) for token_id in ids] == [b" a", b"\xf0", b"\x9f", b"\x99", b"\x82"]
    assert encoder.token(ids[1]) == "\ufffd"
    assert encoder.decode(ids) == " a🙂"


def test_the_byte_alphabet_names_every_byte_once():
    assert sorted(byte_alphabet().values()) == list(range(256))
    assert set(byte_alphabet()) == set(pre_tokenizers.ByteLevel.alphabet())


def test_a_piece_that_the_model_itself_knows_is_still_broken_apart_in_plain_text():
    vocab = {"[UNK]": 0, "stop": 1, "s": 2, "t": 3, "o": 4, "p": 5, "x": 6}
    tokenizer = Tokenizer(models.Unigram([(piece, -1.0) for piece in vocab], unk_id=0))
    tokenizer.add_special_tokens([AddedToken("stop", special=True, normalized=False)])
    encoder = TokenizerEncoder(tokenizer)
    assert encoder.encode("xstopx") == [6, 1, 6]
    assert encoder.encode_plain("xstopx") == [6, 2, 3, 4, 5, 6]


def test_truncation_and_padding_stored_in_the_file_are_off():
    tokenizer = Tokenizer.from_str(tokenizer_json())
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=50)
    assert len(TokenizerEncoder(tokenizer).encode("one two three four five six")) not in (2, 50)


def test_a_lone_surrogate_is_named(encoder):
    for encode in (encoder.encode, encoder.encode_plain, encoder.normalize):
        with pytest.raises(UnencodableText, match=r"Character 1 .* U\+D800"):
            encode("a\ud800")


def test_added_tokens_of_the_config_are_added_and_reflagged_as_transformers_does(tmp_path):
    from transformers import PreTrainedTokenizerFast

    size = Tokenizer.from_str(tokenizer_json()).get_vocab_size()
    decoder = {str(size): {"content": "<new>", "special": True}, str(size + 1): {"content": "<think>", "special": True}}
    folder = make_target(tmp_path, None, config={"added_tokens_decoder": decoder, "mask_token": "<masked>"})
    ours, theirs = TokenizerEncoder.load(folder), PreTrainedTokenizerFast.from_pretrained(folder)
    text = "<new> <think> <masked> <|im_end|>"
    assert ours.encode(text) == theirs(text, add_special_tokens=False)["input_ids"]
    assert {ours.id_of(token) for token in ("<new>", "<think>", "<masked>", "<|im_end|>")} <= ours.special_ids
    assert ours.named["mask_token"] == "<masked>"
    assert ours.vocab_size == len(theirs)


def test_older_special_token_files_are_read_where_the_config_lists_no_added_tokens(tmp_path):
    folder = make_target(tmp_path, None, named={})
    (folder / "special_tokens_map.json").write_text(
        json.dumps({"eos_token": {"content": "<|im_end|>"}, "bos_token": "<s>"}), encoding="utf-8"
    )
    (folder / "added_tokens.json").write_text(json.dumps({"<late>": 999}), encoding="utf-8")
    config = TokenizerConfig.load(folder)
    assert config.named == {"bos_token": "<s>", "eos_token": "<|im_end|>"}
    assert "<late>" in TokenizerEncoder.load(folder, config).added.values()


def test_a_folder_without_tokenizer_says_so(tmp_path):
    with pytest.raises(TokenizerMissing, match=r"tokenizer\.json"):
        TokenizerEncoder.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [("tokenizer.json", "{"), ("tokenizer.json", "[]"), ("tokenizer_config.json", "[]"), ("tokenizer_config.json", "{")],
)
def test_a_file_that_is_not_what_its_name_says_is_named(tmp_path, name, content):
    folder = make_target(tmp_path, None)
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(BadTargetFile, match=name.replace(".", r"\.")):
        TokenizerEncoder.load(folder)
