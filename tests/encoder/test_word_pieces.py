from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc

from spacy_rst.encoder import word_pieces
from spacy_rst.encoder.word_pieces import TokenPieces, WordPieces
from spacy_rst.treebank.convert import multilingual_pipeline

# What becomes another number of characters, or none, when it is normalised; and marks of all kinds.
STRANGE = "ﬁﬃ½…㍿㈱ǆＡ％﷽⁉\u200b\u200d\u2581\xad\ufe0f\u0301👩👧狗，。\u3000\u2028\t\n \x00.'-"


@pytest.fixture(scope="module")
def pieces(tiny_pieces):
    return WordPieces((Path(tiny_pieces) / "sp.model").read_bytes())


def starts_of(tokens: list[str]) -> np.ndarray:
    return np.cumsum([0, *map(len, tokens[:-1])])


def cut(pieces: WordPieces, tokens: list[str]) -> TokenPieces:
    """Cut a text that is given as tokens, white space among them."""
    return pieces.cut("".join(tokens), starts_of(tokens))


def pieces_of_tokens(found: TokenPieces, n_tokens: int) -> list[list[int]]:
    """The numbers of the pieces that belong to each token, the slow way."""
    owners: list[list[int]] = [[] for _ in range(n_tokens)]
    for number, (first, last) in enumerate(zip(found.first, found.last, strict=True)):
        for token in range(first, last + 1):
            owners[token].append(number)
    return owners


def check_alignment(pieces: WordPieces, doc: Doc) -> None:
    found = pieces.cut(doc.text, np.array([token.idx for token in doc], dtype=np.int64))
    assert (found.first <= found.last).all()
    assert (found.first[1:] >= found.last[:-1]).all()
    owners = pieces_of_tokens(found, len(doc))
    for token, own in zip(doc, owners, strict=True):
        assert bool(own) != token.text.isspace(), (doc.text, token.text)
    assert set(range(len(found.pieces))) == {number for own in owners for number in own}


def test_the_pieces_are_sentencepieces_own(pieces):
    text = "The dog sleeps\nin the garden,  although it rains."
    found = pieces.cut(text, np.array([0]))
    assert found.pieces.tolist() == pieces.processor.EncodeAsIds(text)
    assert set(found.first) == set(found.last) == {0}


def test_each_token_has_its_characters(pieces):
    tokens = [
        "Der",
        " ",
        "Hund",
        " ",
        "schläft",
        ",",
        " ",
        "obwohl",
        "\n\n",
        "es",
        " ",
        "regnet",
        ".",
    ]
    found = cut(pieces, tokens)
    written = [pieces.processor.IdToPiece(number) for number in found.pieces.tolist()]
    for token, own in zip(tokens, pieces_of_tokens(found, len(tokens)), strict=True):
        assert "".join(written[number] for number in own).replace("\u2581", "") == token.strip()


def test_pieces_may_belong_to_several_tokens(pieces):
    assert pieces.processor.EncodeAsPieces("the") == ["\u2581the"]
    assert pieces_of_tokens(cut(pieces, ["t", "h", "e", " ", "the"]), 5) == [[0], [0], [0], [], [1]]
    # Chinese that the model does not know is one unknown piece, and character tokens share it.
    assert pieces.processor.EncodeAsPieces("狗猫猫狗") == ["\u2581", "狗", "猫猫", "狗"]
    assert pieces_of_tokens(cut(pieces, [*"狗猫猫狗"]), 4) == [[0, 1], [2], [2], [3]]


def test_tokens_may_have_no_pieces(pieces):
    found = cut(pieces, ["\n", "The", " \n", "dog", "\t"])
    assert [bool(own) for own in pieces_of_tokens(found, 5)] == [False, True, False, True, False]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u3000"])
def test_no_text_no_pieces(pieces, text):
    found = pieces.cut(text, np.arange(len(text[:1])))
    assert len(found.pieces) == len(found.first) == len(found.last) == 0


@pytest.mark.parametrize(
    ("tokens", "token", "expected"),
    [
        # What is normalised to more characters shifts nothing, however far away.
        (["…", "…", *"狗" * 40, "园"], 42, ["园"]),
        (["…", "…", "雨"], 0, ["\u2581", ".", ".", "."]),
        (["½", "the"], 1, ["th", "e"]),
        (["ﬁ", "n", "d", "og"], 3, ["o", "g"]),
        (["Ｄ", "ｅｒ", " ", "Hund"], 1, ["er"]),
        (["℃", "雨"], 1, ["雨"]),
    ],
)
def test_normalisation_that_changes_lengths(pieces, tokens, token, expected):
    written = pieces.processor.EncodeAsPieces("".join(tokens))
    own = pieces_of_tokens(cut(pieces, tokens), len(tokens))[token]
    assert [written[number] for number in own] == expected


@pytest.mark.parametrize("word", ["½", "㈱", "ﬃ", "㍿", "ﬁﬂ", "a\u0308ﬃﬃﬃﬃ"])
def test_no_piece_of_a_word_belongs_to_the_line_after_it(pieces, word):
    found = cut(pieces, [word, "\n\n", "dog"])
    assert pieces_of_tokens(found, 3)[1] == []


@pytest.mark.parametrize("word", ["\u200b", "\u200b\u200b", "\u2581", "\u2581\u2581"])
def test_what_sentencepiece_ignores_is_an_unknown_piece(pieces, word):
    assert all(pieces_of_tokens(cut(pieces, list(word)), len(word)))


@settings(max_examples=200)
@given(st.text(st.sampled_from(STRANGE) | st.characters(exclude_categories=["Cs"]), max_size=25))
def test_every_token_but_white_space_has_pieces(pieces, text):
    nlp = multilingual_pipeline()
    check_alignment(pieces, nlp.make_doc(text))
    check_alignment(pieces, Doc(nlp.vocab, words=[*text], spaces=[False] * len(text)))


def test_a_long_word_is_cut_like_any_other(pieces):
    word = "Gartenhund" * 500
    found = cut(pieces, [word, " ", "regnet"])
    assert found.pieces.tolist() == pieces.processor.EncodeAsIds(f"{word} regnet")
    characters = cut(pieces, list(word))
    owners = pieces_of_tokens(characters, len(word))
    assert all(owners) and characters.last[-1] == len(word) - 1


def test_words_are_remembered_up_to_a_limit(pieces, monkeypatch):
    fresh = WordPieces(pieces.model)
    monkeypatch.setattr(word_pieces, "CACHED_WORDS", 2)
    monkeypatch.setattr(word_pieces, "CACHED_CHARACTERS", 5)
    words = ["sleeps", "dog", "garden", "it", "the", "dog"]
    tokens = [part for word in words for part in (word, " ")]
    first, second = cut(fresh, tokens), cut(fresh, tokens)
    assert set(fresh._words) == {"dog", "it"}
    for name in ("pieces", "first", "last"):
        expected = getattr(cut(pieces, tokens), name)
        np.testing.assert_array_equal(getattr(first, name), expected)
        np.testing.assert_array_equal(getattr(second, name), expected)


def test_can_be_pickled(pieces):
    copy = pickle.loads(pickle.dumps(pieces))
    np.testing.assert_array_equal(
        cut(copy, ["The", " ", "dog"]).pieces, cut(pieces, ["The", " ", "dog"]).pieces
    )


@given(st.data())
def test_a_range_has_the_pieces_of_its_tokens_and_others_around(data):
    n_tokens = data.draw(st.integers(1, 12))
    pairs = st.lists(st.integers(0, n_tokens - 1), max_size=40).map(sorted)
    borders = np.array(data.draw(pairs), dtype=np.int64)
    n_pieces = len(borders) // 2
    first, last = borders[: 2 * n_pieces].reshape(-1, 2).T
    whole = TokenPieces(np.arange(100, 100 + len(first)), first, last)
    start = data.draw(st.integers(0, n_tokens - 1))
    end = data.draw(st.integers(start, n_tokens))
    context = data.draw(st.integers(0, 4))
    part = whole.between(start, end, context)
    assert len(part) == end - start
    ends = [*part.pool_starts[1:].tolist(), len(part.pooled)]
    found = [
        part.pieces[part.pooled[a:b]].tolist()
        for a, b in zip(part.pool_starts.tolist(), ends, strict=False)
    ]
    owners = pieces_of_tokens(whole, n_tokens)[start:end]
    assert found == [whole.pieces[own].tolist() for own in owners]
    own = sorted({number for numbers in owners for number in numbers})
    if own:
        around = whole.pieces[max(own[0] - context, 0) : own[-1] + 1 + context]
        assert part.pieces.tolist() == around.tolist()
