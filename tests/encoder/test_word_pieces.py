from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_rst.encoder import word_pieces
from spacy_rst.encoder.alignment import token_piece_ranges
from spacy_rst.encoder.vectors import token_offsets
from spacy_rst.encoder.word_pieces import TokenPieces, WordPieces
from spacy_rst.languages import multilingual_pipeline

# What becomes another number of characters, or none, when it is normalised; and marks of all kinds.
STRANGE = "ﬁﬃ½…㍿㈱ǆＡ％﷽⁉\u200b\u200d\u2581\xad\ufe0f\u0301👩👧狗，。\u3000\u2028\t\n \x00.'-"


@pytest.fixture(scope="module")
def pieces(tiny_pieces):
    return WordPieces((Path(tiny_pieces) / "sp.model").read_bytes())


def cut_doc(pieces: WordPieces, doc: Doc) -> TokenPieces:
    ids, piece_offsets = pieces.encode(doc.text)
    return TokenPieces(ids, token_piece_ranges(token_offsets(doc), piece_offsets))


def cut(pieces: WordPieces, tokens: list[str]) -> TokenPieces:
    """Cut a text that is given as tokens, white space among them."""
    return cut_doc(pieces, Doc(Vocab(), words=tokens, spaces=[False] * len(tokens)))


def pieces_of_tokens(found: TokenPieces) -> list[list[int]]:
    """The numbers of the pieces that belong to each token."""
    return [list(range(start, end)) for start, end in found.ranges.tolist()]


def check_alignment(pieces: WordPieces, doc: Doc) -> None:
    found = cut_doc(pieces, doc)
    owners = pieces_of_tokens(found)
    for token, own in zip(doc, owners, strict=True):
        assert bool(own) != token.text.isspace(), (doc.text, token.text)
    assert set(range(len(found.ids))) == {number for own in owners for number in own}


def test_the_pieces_are_sentencepieces_own(pieces):
    text = "The dog sleeps\nin the garden,  although it rains."
    ids, offsets = pieces.encode(text)
    assert ids.tolist() == pieces.processor.EncodeAsIds(text)
    written = pieces.processor.EncodeAsPieces(text)
    for piece, (start, end) in zip(written, offsets.tolist(), strict=True):
        assert text[start:end] == piece.replace("\u2581", "")


def test_each_token_has_its_characters(pieces):
    tokens = re.findall(r"\w+|\s+|[,.]", "Der Hund schläft, obwohl\n\nes regnet.")
    found = cut(pieces, tokens)
    written = [pieces.processor.IdToPiece(number) for number in found.ids.tolist()]
    for token, own in zip(tokens, pieces_of_tokens(found), strict=True):
        assert "".join(written[number] for number in own).replace("\u2581", "") == token.strip()


def test_pieces_may_belong_to_several_tokens(pieces):
    assert pieces.processor.EncodeAsPieces("the") == ["\u2581the"]
    assert pieces_of_tokens(cut(pieces, ["t", "h", "e", " ", "the"])) == [[0], [0], [0], [], [1]]
    # Chinese that the model does not know is one unknown piece, and character tokens share it.
    assert pieces.processor.EncodeAsPieces("狗猫猫狗") == ["\u2581", "狗", "猫猫", "狗"]
    assert pieces_of_tokens(cut(pieces, [*"狗猫猫狗"])) == [[0, 1], [2], [2], [3]]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u3000"])
def test_no_text_no_pieces(pieces, text):
    ids, offsets = pieces.encode(text)
    assert ids.shape == (0,) and offsets.shape == (0, 2)


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
    own = pieces_of_tokens(cut(pieces, tokens))[token]
    assert [written[number] for number in own] == expected


@pytest.mark.parametrize("word", ["½", "㈱", "ﬃ", "㍿", "ﬁﬂ", "a\u0308ﬃﬃﬃﬃ"])
def test_no_piece_of_a_word_belongs_to_the_line_after_it(pieces, word):
    found = cut(pieces, [word, "\n\n", "dog"])
    assert pieces_of_tokens(found)[1] == []


@pytest.mark.parametrize("word", ["\u200b", "\u200b\u200b", "\u2581", "\u2581\u2581"])
def test_what_sentencepiece_ignores_is_an_unknown_piece(pieces, word):
    assert all(pieces_of_tokens(cut(pieces, list(word))))


@settings(max_examples=200)
@given(st.text(st.sampled_from(STRANGE) | st.characters(exclude_categories=["Cs"]), max_size=25))
def test_every_token_but_white_space_has_pieces(pieces, text):
    nlp = multilingual_pipeline()
    check_alignment(pieces, nlp.make_doc(text))
    check_alignment(pieces, Doc(nlp.vocab, words=[*text], spaces=[False] * len(text)))


def test_a_long_word_is_cut_like_any_other(pieces):
    word = "Gartenhund" * 500
    found = cut(pieces, [word, " ", "regnet"])
    assert found.ids.tolist() == pieces.processor.EncodeAsIds(f"{word} regnet")
    assert all(pieces_of_tokens(cut(pieces, list(word))))


def test_words_are_remembered_up_to_a_limit(pieces, monkeypatch):
    fresh = WordPieces(pieces.model)
    monkeypatch.setattr(word_pieces, "CACHED_WORDS", 2)
    monkeypatch.setattr(word_pieces, "CACHED_CHARACTERS", 5)
    words = ["sleeps", "dog", "garden", "it", "the", "dog"]
    tokens = [part for word in words for part in (word, " ")]
    first, second = cut(fresh, tokens), cut(fresh, tokens)
    assert set(fresh._words) == {"dog", "it"}
    for found in (first, second):
        for array, expected in zip(found, cut(pieces, tokens), strict=True):
            np.testing.assert_array_equal(array, expected)


@given(st.data())
def test_a_part_has_the_pieces_of_its_tokens_and_others_around(data):
    n_tokens = data.draw(st.integers(1, 12))
    borders = data.draw(st.lists(st.integers(0, 30), min_size=2 * n_tokens, max_size=2 * n_tokens))
    whole = TokenPieces(np.arange(100, 130), np.array(sorted(borders)).reshape(-1, 2))
    start = data.draw(st.integers(0, n_tokens - 1))
    end = data.draw(st.integers(start, n_tokens))
    context = data.draw(st.integers(0, 4))
    part = whole.crop(start, end, context)
    owners = pieces_of_tokens(whole)[start:end]
    found = [part.ids[own].tolist() for own in pieces_of_tokens(part)]
    assert found == [whole.ids[own].tolist() for own in owners]
    own = [number for numbers in owners for number in numbers]
    around = whole.ids[max(own[0] - context, 0) : own[-1] + 1 + context] if own else []
    assert part.ids.tolist() == list(around)
