from __future__ import annotations

import numpy as np
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st

from spacy_rst.syntax.sentence_chunks import cut_at_ends, sentence_ends


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(2, 20))
def test_chunks_cover_the_text_and_are_no_longer_than_allowed(ends, size):
    lengths = cut_at_ends(np.array(ends), size)
    assert sum(lengths) == len(ends) and max(lengths) <= size and min(lengths) > 0


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("One two. Three four. Five six.", [6, 3]),
        ("One two three four five six seven eight nine.", [7, 3]),
        ("“One two.” Three four five six. Seven.", [5, 7]),
        ("One two three\n\nFour five six seven.", [4, 5]),
        ("", []),
    ],
)
def test_chunks_end_with_sentences(text, sizes):
    assert cut_at_ends(sentence_ends(spacy.blank("xx")(text)), 7) == sizes
