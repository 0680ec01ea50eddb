"""Texts in many languages, long and short, and some that are hardly texts."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEMO = {
    path.stem: path.read_text(encoding="utf8").strip()
    for path in sorted((ROOT / "assets" / "demo").glob("*.txt"))
}
ODD = {
    "nothing": "",
    "blank": " \n\n\t ",
    "one word": "Perhaps",
    "emoji": "😀👍🏽 👩‍👩‍👧 🇧🇷",
    "marks": "... !? --- \u200b\u200d",
    "no spaces": "x" * 3000,
    "lines": "Yes.\n\nNo.\r\n\r\nPerhaps.",
    "basque": "Euria ari zuen, baina kalera atera ginen.",
    "persian": "هوا سرد بود، اما ما بیرون رفتیم.",
    "unknown script": "ᚠᛇᚻ ᛒᛦᚦ ᚠᚱᚩᚠᚢᚱ",
}


def long_text(n_words: int) -> str:
    """RETURNS (str): A text of so many words, a paragraph for each demo text in turn."""
    words = cycle(
        word for text in DEMO.values() for word in ["\n\n", *text.replace("，", "， ").split()]
    )
    return " ".join(islice(words, n_words))


def mixed_texts(n_texts: int, long_words: int) -> list[str]:
    """Make texts of all kinds, so that neighbours in a batch have little in common. Hardly any
    occurs twice; two of them have at least so many words."""
    pool = cycle([*DEMO.values(), *ODD.values()])
    texts = [
        f"{text} {number}." if text.strip() and number > len(DEMO) + len(ODD) else text
        for number, text in enumerate(islice(pool, n_texts))
    ]
    for place in (1, 2):
        texts[place * n_texts // 3] = long_text(long_words + place)
    return texts
