"""A tokenizer for pipelines in many languages, those that write without spaces among them."""

from __future__ import annotations

from collections.abc import Callable

from spacy.language import Language
from spacy.tokenizer import Tokenizer
from spacy.util import compile_infix_regex, registry

from ..orthography import UNSPACED

# Voicing marks and variation selectors, which belong to the character before.
ATTACHED = "\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Matches nothing but the place between two characters of which one is unspaced.
BORDER = rf"(?<=[{UNSPACED}{ATTACHED}])(?=[^{ATTACHED}])|(?<=.)(?![{ATTACHED}])(?=[{UNSPACED}])"


@registry.tokenizers("spacy_rst.Tokenizer.v1")
def make_tokenizer() -> Callable[[Language], Tokenizer]:
    """Make a tokenizer that works like spaCy's for the pipeline's language, but splits Chinese and
    Japanese text into its characters, as spaCy's Chinese tokenizer does. Otherwise a clause of
    them is one token in a pipeline for many languages, and no EDU can begin inside.

    RETURNS (Callable[[Language], Tokenizer]): A function that makes the tokenizer of a pipeline.
    """
    return create_tokenizer


def create_tokenizer(nlp: Language) -> Tokenizer:
    """Make the tokenizer of a pipeline.

    nlp (Language): The pipeline.
    RETURNS (Tokenizer): The tokenizer.
    """
    tokenizer = registry.tokenizers.get("spacy.Tokenizer.v1")()(nlp)
    infixes = compile_infix_regex([BORDER, *(nlp.Defaults.infixes or ())])
    tokenizer.infix_finditer = infixes.finditer
    return tokenizer
