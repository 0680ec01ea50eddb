from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.orthography import is_unspaced
from spacy_rst.treebank.detokenize import guess_spaces
from tests.strategies import words

LANGUAGES = ("en", "de", "es", "eu", "fa", "fr", "nl", "pt", "ru", "zh", "xx")


def written(tokens: str, lang: str) -> str:
    """The text of tokens that are given with spaces between all of them."""
    split = tokens.split(" ")
    spaces = guess_spaces(split, lang)
    assert len(spaces) == len(split)
    return "".join(word + " " * space for word, space in zip(split, spaces, strict=True))


@pytest.mark.parametrize(
    ("lang", "tokens", "expected"),
    [
        ("en", "Is it art , then ?", "Is it art, then?"),
        ("en", "It is n't ; we 've seen Bezos 's own .", "It isn't; we've seen Bezos's own."),
        ("en", "You ca n’t , I ’ll go .", "You can’t, I’ll go."),
        ("en", "I can not , I 'm gon na wait .", "I cannot, I'm gonna wait."),
        ("en", "a well - known and / or bad one", "a well-known and/or bad one"),
        ("en", "Burke ( 1729 – 1797 ) – a thinker", "Burke (1729–1797) – a thinker"),
        ("en", "it fell -- see [ 2 ] -- to $ 20 , or 5 %", "it fell -- see [2] -- to $20, or 5%"),
        ("en", "the Pirates ' bat and a ' big dog '", "the Pirates' bat and a 'big dog'"),
        ("en", "he said : “ Yes , ” and ‘ no ’ .", "he said: “Yes,” and ‘no’."),
        ("de", "Er sagt : „ Ja “ , und geht .", "Er sagt: „Ja“, und geht."),
        ("de", "Das \" Rad \" - so heißt es - fährt .", "Das \"Rad\" - so heißt es - fährt."),
        ("de", "Mönchen- und Zinnaer Straße ...", "Mönchen- und Zinnaer Straße..."),
        ("es", "Bien , ¿ qué son ? ¡ Nada !", "Bien, ¿qué son? ¡Nada!"),
        ("es", "«Sí » ( 80 % ) .", "«Sí» (80%)."),
        ("eu", "gaixoen % 79k ( % 4,8 ) , eta \" hau \" .", "gaixoen %79k (%4,8), eta \"hau\"."),
        ("fr", "L' idée qu’ il a : « Oui » , dit -il ?", "L'idée qu’il a : « Oui », dit-il ?"),
        ("fa", "گفت : « سلام » ، آیا رفت ؟", "گفت: «سلام»، آیا رفت؟"),
        ("nl", "20 - 30 , 1 – 2", "20 - 30, 1 – 2"),
        ("nl", "een ' normale ' ster kost € 10 !", "een 'normale' ster kost € 10!"),
        ("pt", "o mural ' Guerra ' , disse \" Lula \" .", "o mural 'Guerra', disse \"Lula\"."),
        ("ru", "слово « и » ( союз ) — это «и» .", "слово «и» (союз) — это «и»."),
        ("zh", "今天 ， 3 月 下 雨 。 她 说 ： “ 好 ！ ”", "今天，3月下雨。她说：“好！”"),
        ("zh", "和 Niga Higa 合作 [ 3 ] 。", "和Niga Higa合作[3]。"),
    ],
)  # fmt: skip
def test_a_space_stands_where_a_writer_puts_one(lang, tokens, expected):
    assert written(tokens, lang) == expected


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ("a \" b \" c \" d \" e", "a \"b\" c \"d\" e"),
        ("\" a ' b ' c \" d", "\"a 'b' c\" d"),
        # One that is never closed spoils those after it, but not for long.
        ("a \" b and \" c \" , d \" e \" f", "a \"b and\" c\", d \"e\" f"),
        ("a \" b \n\n c \" d \" e", "a \"b\n\nc \"d\" e"),
    ],
)  # fmt: skip
def test_straight_quotes_open_and_close_in_turn(tokens, expected):
    assert written(tokens, "en") == expected


def test_white_space_and_nothing_at_all():
    assert written("One . \n\n Two .", "en") == "One.\n\nTwo."
    assert guess_spaces(["\n\n"], "en") == [False]
    assert guess_spaces([], "en") == []


@given(st.lists(words(), max_size=30), st.sampled_from(LANGUAGES))
def test_no_character_is_lost(tokens, lang):
    spaces = guess_spaces(tokens, lang)
    assert len(spaces) == len(tokens) and not any(spaces[-1:])
    text = "".join(word + " " * space for word, space in zip(tokens, spaces, strict=True))
    assert text.replace(" ", "") == "".join(tokens).replace(" ", "")
    for word, following, space in zip(tokens, tokens[1:], spaces, strict=False):
        assert not (space and (is_unspaced(word[-1]) or is_unspaced(following[0])))
        letters = word.isalpha() and following.isalpha() and word.isascii() and following.isascii()
        assert space or not letters or lang == "en"
