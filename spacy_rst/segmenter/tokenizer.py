"""A tokenizer for pipelines in many languages, those that write without spaces among them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any, cast

from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.tokens import Doc
from spacy.util import compile_infix_regex, registry

from ..orthography import UNSPACED

# Voicing marks and variation selectors, which belong to the character before.
ATTACHED = "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Matches nothing but the place between two characters of which one is unspaced.
BORDER = rf"(?<=[{UNSPACED}{ATTACHED}])(?=[^{ATTACHED}])|(?<=.)(?![{ATTACHED}])(?=[{UNSPACED}])"
# What spaCy's tokenizer reads at once. Its time grows with the square of what has no spaces, most
# of all of marks, which it takes off one by one.
MAX_MARKS = 100
MAX_CHARACTERS = 2000
LONG_RUN = re.compile(rf"(?<!\S)\S{{{MAX_MARKS + 1},}}")
MANY_MARKS = re.compile(rf"(?:[^\w\s]|_){{{MAX_MARKS}}}")


@registry.tokenizers("spacy_rst.Tokenizer.v1")
def make_tokenizer() -> Callable[[Language], Tokenizer]:
    """Make a tokenizer that works like spaCy's for the pipeline's language, but splits Chinese and
    Japanese text into its characters, as spaCy's Chinese tokenizer does. Otherwise a clause of
    them is one token in a pipeline for many languages, and no EDU can begin inside.

    RETURNS (Callable[[Language], Tokenizer]): A function that makes the tokenizer of a pipeline.
    """
    return create_tokenizer


def create_tokenizer(nlp: Language) -> Tokenizer:
    """Make the tokenizer of a pipeline."""
    usual = registry.tokenizers.get("spacy.Tokenizer.v1")()(nlp)
    infixes = compile_infix_regex([BORDER, *(nlp.Defaults.infixes or ())])
    return LinearTimeTokenizer(
        nlp.vocab,
        rules=usual.rules,
        prefix_search=usual.prefix_search,
        suffix_search=usual.suffix_search,
        infix_finditer=infixes.finditer,
        token_match=usual.token_match,
        url_match=usual.url_match,
    )


class LinearTimeTokenizer(Tokenizer):
    """spaCy's tokenizer, in linear time also where a text has no spaces for long."""

    def __call__(self, text: str) -> Doc:
        """Tokenize a text."""
        parts = [super(LinearTimeTokenizer, self).__call__(part) for part in cut_runs(text)]
        if len(parts) == 1:
            return parts[0]
        # The tensors, which are empty, would become one of width 0.
        return cast(Any, Doc).from_docs(parts, ensure_whitespace=False, exclude=["tensor"])


def cut_runs(text: str) -> list[str]:
    """Cut what has no spaces for too long. In almost all cases the text is the only part."""
    cuts = [0]
    for run in LONG_RUN.finditer(text):
        start, end = run.span()
        behind_marks = (marks.end() for marks in MANY_MARKS.finditer(text, start, end))
        regular = range(start + MAX_CHARACTERS, end, MAX_CHARACTERS)
        cuts += sorted({*behind_marks, *regular} - {end})
    return [text[start:end] for start, end in pairwise([*cuts, len(text)])]
