"""Blocks of plain text, in many scripts."""

from __future__ import annotations

import textwrap

import pytest

from spacy_rst.layout import Layout, read_plain

from . import blocks
from .blocks import read_text

PROSE = "It rained all day, so that nobody went out."


def described(text: str) -> list[tuple[str, str]]:
    return blocks.described(lambda text: Layout.verbatim(text, read_plain(text)), text)


@pytest.mark.parametrize(
    "text",
    ["", "  \n ", "One sentence.", "Two sentences. In one line.", "\n\nOne paragraph.\n\n"],
)
def test_a_text_without_break_has_no_known_layout(text):
    assert read_plain(text) == []


@pytest.mark.parametrize("line_break", ["\n\n", "\r\n\r\n", "\n \t\n", "\u2029", "\n\n\n\n"])
def test_blank_lines_divide_paragraphs(line_break):
    text = f"{PROSE}{line_break}{PROSE}"
    assert described(text) == [("paragraph", PROSE), ("paragraph", PROSE)]


def test_places_leave_out_white_space():
    text = f"\n\n  {PROSE} \n\n\t{PROSE}\n"
    assert [text[b.start : b.end] for b in read_plain(text)] == [PROSE, PROSE]


def test_recipe():
    assert described(read_text("recipe.txt")) == [
        ("heading 1", "Pancakes for four"),
        ("paragraph", "These are thin, and you can fill them with anything you like."),
        ("heading 2", "Ingredients:"),
        ("paragraph", "200 g flour"),
        ("paragraph", "2 eggs"),
        ("paragraph", "1 pinch of salt"),
        ("paragraph", "Half a litre of milk"),
        ("heading 2", "Method"),
        ("item 1", "1. Mix the flour with the salt."),
        (
            "item 1",
            "2. Add the eggs one by one, and stir\n   until there are no lumps left.",
        ),
        ("item 1", "3. Pour in the milk slowly."),
        ("item 1", "4. Fry each pancake on both sides."),
        ("paragraph", "Serve them warm, because they get tough when they are cold."),
    ]


def test_chat():
    assert described(read_text("chat.txt")) == [
        ("turn Anna", "[18:02] Anna: Are you coming tonight?"),
        ("turn Tom", "[18:03] Tom: I don't know yet."),
        ("turn Tom +", "I still have to finish the report."),
        ("turn Anna", "[18:03] Anna: Oh no! Can I help?"),
        (
            "turn Maria Lopez",
            "[18:05] Maria Lopez: I have time after seven: shall I bring cake?",
        ),
        ("turn Tom", "[18:06] Tom: Yes, please."),
    ]


def test_mail():
    found = described(read_text("mail.txt"))
    assert [kind for kind, _ in found] == [
        *["paragraph"] * 6,
        *("quotation 1", "quotation 1 +", "paragraph", "item 1", "item 1", "paragraph"),
    ]
    assert [text.split()[0] for _, text in found] == [
        *("From:", "To:", "Subject:", "Dear", "thank", "You", ">", ">", "The", "-", "-", "Best"),
    ]


def test_a_line_that_ends_early_ends_a_paragraph_of_filled_lines():
    first, second = textwrap.fill("Here " + "word " * 70 + "end."), textwrap.fill(f"{PROSE} " * 9)
    found = described(f"{first}\n{second}")
    assert found == [("paragraph", first), ("paragraph", second)]


@pytest.mark.parametrize(
    "items",
    [
        *([f"{mark} one", f"{mark} two"] for mark in "-*•"),
        *(
            [form.format(1, "one"), form.format(2, "two")]
            for form in ("{}. {}", "{}) {}", "({}) {}")
        ),
        ["a) one", "b) two"],
        ["一、苹果", "二、梨"],
        *([form.format(1, "苹果"), form.format(2, "梨")] for form in ("{}、{}", "（{}）{}")),
        ["① 苹果", "② 梨"],
        ["١. تفاح", "٢. كمثرى"],
        ["— хлеб;", "— молоко."],
    ],
    ids=lambda items: items[0],
)
def test_items(items):
    assert described(f"{PROSE[:-1]}:\n" + "\n".join(items))[1:] == [
        ("item 1", item) for item in items
    ]


def test_nested_items_and_what_continues_them():
    text = "- one\n  - below\n\n    more of it\n- two\n  goes on\nEnd of the list."
    assert described(text) == [
        ("item 1", "- one"),
        ("item 2", "- below"),
        ("item 2 +", "more of it"),
        ("item 1", "- two\n  goes on"),
        ("paragraph", "End of the list."),
    ]


@pytest.mark.parametrize(
    "prose",
    [
        f"{PROSE} " * 9,
        "Шёл дождь, и никто не выходил из дома. " * 9,
        "下雨了，没有人出门，都在家。" * 25,
    ],
    ids=["en", "ru", "zh"],
)
def test_wrapped_paragraphs_are_paragraphs(prose):
    wrapped = textwrap.fill(prose, 60)
    assert described(f"{wrapped}\n\n{wrapped}") == [("paragraph", wrapped)] * 2


def test_marks_of_markdown():
    code = "```\nx = 1\n\ny = 2\n```"
    text = f"# Title\nText.\n| a | b |\n|---|---|\n| 1 | 2 |\n{code}\n### Below\nText."
    assert described(text) == [
        ("heading 1", "# Title"),
        ("paragraph", "Text."),
        ("row", "| a | b |\n|---|---|"),
        ("row", "| 1 | 2 |"),
        ("code", code),
        ("heading 3", "### Below"),
        ("paragraph", "Text."),
    ]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Anna: ", "Tom: "),
        ("<anna> ", "<tom> "),
        ("Q: ", "A: "),
        ("张三：", "李四："),
        ("أحمد: ", "سارة: "),
    ],
)
def test_turns(first, second):
    lines = [f"{first}{PROSE}", f"{second}{PROSE}", f"{first}{PROSE}"]
    names = [name.strip(" :<>：") for name in (first, second, first)]
    assert described("\n".join(lines)) == [
        (f"turn {name}", line) for name, line in zip(names, lines, strict=True)
    ]


TITLES = ("Chapter One", "INTRODUCTION", "引言", "Введение", "المقدمة")
NO_TITLES = ("Dear Anna,", "He left.", "He left. She", "and then", "2 eggs")
VERSE = "The rain it fell\nupon the well\n\nand no one knew\nthe sky was blue"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"{title}\n\n{PROSE}\n\n{PROSE}", "heading paragraph paragraph") for title in TITLES),
        *((f"{line}\n\n{PROSE}", "paragraph paragraph") for line in NO_TITLES),
        pytest.param(
            f"A title\n{PROSE}\n{PROSE}\n{PROSE}\nAnother title\n{PROSE} {PROSE}",
            "heading paragraph paragraph paragraph heading paragraph",
            id="lines that end sentences are paragraphs",
        ),
        pytest.param(VERSE, "paragraph paragraph", id="lines of verse are not"),
        pytest.param(
            "The long and cold winter of the year\n95. Nobody knows why\nit did.", "", id="number"
        ),
        pytest.param("— Ты идёшь?\n— Да, иду.\nОна ушла.", "paragraph " * 3, id="speech"),
        pytest.param(
            "Кто-то ушёл, а кто-то\n— нет. Так бывает\nвсегда.\n\nКонец.",
            "paragraph paragraph",
            id="a dash within a sentence",
        ),
        pytest.param(f"```\n\n{PROSE}\n\n{PROSE}", "paragraph " * 3, id="a fence without partner"),
        pytest.param(f"{PROSE}\n\nKind regards\n\nTom", "paragraph " * 3, id="signature"),
        pytest.param(
            f"Note: {PROSE}\n\nWarning: {PROSE}\n\nTip: {PROSE}", "paragraph " * 3, id="notes"
        ),
    ],
)
def test_kinds(text, expected):
    assert [block.kind for block in read_plain(text)] == expected.split()


def test_levels_of_headings():
    text = f"1. Introduction\n\n{PROSE}\n\n2. Methods\n\n{PROSE}\n\n2.1 Data\n\n{PROSE}"
    assert [kind for kind, _ in described(text)][::2] == ["heading 2", "heading 2", "heading 3"]
    assert described(f"{TITLES[0]}\n\n{PROSE}\n\n{PROSE}")[0] == ("heading 1", TITLES[0])
