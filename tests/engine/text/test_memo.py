"""What was encoded before is not encoded again, within a bound, and comes out the same."""

import ctypes
import threading

from engine.text.memo import MAX_BYTES, StretchMemo
from engine.text.tokenizer import Tokenizer
from tests.helpers.tiny_tokenizers import byte_level_tokenizer


class Encoder:
    """One id a character, and every call noted."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, text: str) -> list[int]:
        self.asked.append(text)
        return list(map(ord, text))


def test_a_stretch_is_encoded_once() -> None:
    memo, encode = StretchMemo(), Encoder()
    for _ in range(3):
        assert list(memo.ids("ab", encode, is_first=False)) == [97, 98]
    assert encode.asked == ["ab"]


def test_the_beginning_of_a_text_is_another_stretch() -> None:
    memo = StretchMemo()
    assert list(memo.ids("ab", lambda _text: [1], is_first=True)) == [1]
    assert list(memo.ids("ab", lambda _text: [2], is_first=False)) == [2]
    assert list(memo.ids("ab", lambda _text: [3], is_first=True)) == [1]


def test_the_oldest_leave_when_the_bound_is_reached() -> None:
    memo, encode = StretchMemo(8_000), Encoder()
    for number in range(100):
        memo.ids(f"{number:050}", encode, is_first=False)
        memo.ids(f"{0:050}", encode, is_first=False)  # asked for all the time: it stays
        assert 0 < memo.num_bytes <= 8_000
    assert encode.asked.count(f"{0:050}") == 1
    memo.ids(f"{1:050}", encode, is_first=False)
    assert encode.asked.count(f"{1:050}") == 2
    assert len(memo) < 20


def test_a_text_over_the_bound_is_encoded_and_drives_nothing_out() -> None:
    memo, encode = StretchMemo(2_000), Encoder()
    memo.ids("ab", encode, is_first=False)
    assert len(memo.ids("x" * 2_000, encode, is_first=False)) == 2_000
    assert len(memo) == 1


def test_a_text_that_grows_while_it_is_kept_does_not_widen_the_bound() -> None:
    memo, encode = StretchMemo(8_000), Encoder()
    in_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8
    in_utf8.argtypes, in_utf8.restype = [ctypes.py_object], ctypes.c_char_p
    for number in range(40):
        text = f"{number:050}" + "\u00e9" * 300
        memo.ids(text, encode, is_first=False)
        assert in_utf8(text)  # Python keeps it beside the text
    assert 4_000 < memo.num_bytes <= 8_000
    assert len(memo) < 8


def test_with_no_room_nothing_is_kept() -> None:
    memo, encode = StretchMemo(0), Encoder()
    memo.ids("ab", encode, is_first=False)
    assert (len(memo), memo.num_bytes) == (0, 0)


def test_threads_may_share_it() -> None:
    memo = StretchMemo(8_000)
    wrong: list[str] = []

    def work() -> None:
        for number in range(2_000):
            text = f"{number % 40:030}"
            if list(memo.ids(text, Encoder(), is_first=False)) != list(map(ord, text)):
                wrong.append(text)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert memo.num_bytes <= 8_000


def test_a_turn_encodes_what_is_new(monkeypatch) -> None:
    tokenizer = byte_level_tokenizer()
    asked: list[str] = []
    plain = Tokenizer._encode_plain

    def noted(self, text, backend):
        asked.append(text)
        return plain(self, text, backend)

    monkeypatch.setattr(Tokenizer, "_encode_plain", noted)
    first = "<|im_start|>user\nhello<|im_end|>\n"
    tokenizer.encode(first, parse_special=True)
    asked.clear()
    tokenizer.encode(first + "<|im_start|>user\nwell<|im_end|>\n", parse_special=True)
    assert asked == ["user\nwell"]
    assert MAX_BYTES == 4 << 20


def test_a_tokenizer_that_draws_lots_keeps_nothing() -> None:
    tokenizer = byte_level_tokenizer()
    model = tokenizer._first.model
    model.dropout = 0.5
    lots = Tokenizer(tokenizer._vocabulary, tokenizer._first)
    lots.encode("hello", parse_special=True)
    assert len(lots._memo) == 0
    tokenizer.encode("hello", parse_special=True)
    assert len(tokenizer._memo) == 1
