import pytest

from spacy_rst.display.characters import clean_text, count_cells, is_right_to_left, shorten


def test_clean_text_puts_white_space_on_one_line():
    assert clean_text(" a\nb\r\n\tc\u2028d\x85e ") == "a b c d e"


@pytest.mark.parametrize("char", ["\x00", "\x1b", "\x7f", "\x9b", "\ud800", "\uffff", "\u202e"])
def test_clean_text_takes_out_what_is_no_text(char):
    assert clean_text(f"a{char}b") == "ab"
    assert clean_text(f"a{char}b", "?") == "a?b"


def test_clean_text_keeps_what_persian_and_emoji_need():
    assert clean_text("می\u200cرود") == "می\u200cرود"
    assert clean_text("👩\u200d🔬") == "👩\u200d🔬"


@pytest.mark.parametrize(
    ("text", "cells"),
    [("abc", 3), ("中文", 4), ("e\u0301", 1), ("a\u200cb", 2), ("한", 2), ("", 0)],
)
def test_count_cells(text, cells):
    assert count_cells(text) == cells


@pytest.mark.parametrize(
    ("text", "expected"),
    [("hello", False), ("سلام", True), ("שלום", True), ("«12» سلام", True), ("12 + 3", False)],
)
def test_direction(text, expected):
    assert is_right_to_left(text) is expected


@pytest.mark.parametrize(
    ("text", "max_cells", "expected"),
    [("abcdef", 6, "abcdef"), ("abcdefg", 6, "abcde…"), ("中文中文", 6, "中文…"),
     ("中文中文", 8, "中文中文"), ("abc defg", 5, "abc…")],
)  # fmt: skip
def test_shorten_counts_cells(text, max_cells, expected):
    assert shorten(text, max_cells) == expected
    assert count_cells(shorten(text, max_cells, "...")) <= max_cells


def test_shorten_keeps_marks_with_their_letters_and_stays_bounded():
    assert shorten("ae\u0301bc", 3) == "ae\u0301…"
    assert len(shorten("a" + "\u0301" * 10_000, 10)) <= 41
