"""Take the token vectors off finished Docs."""

from __future__ import annotations

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from .listener import SYNTAX_VECTORS


@Language.component("vector_cleaner")
def clean_vectors(doc: Doc) -> Doc:
    """Remove what encoders left on a Doc: many times its text, and of no use once it is parsed.

    spaCy's `doc_cleaner` sets `doc.tensor` to None, with which a Doc has neither `vector` nor
    `as_doc`. Here it becomes what it is in a new Doc.

    doc (Doc): The Doc.
    RETURNS (Doc): The same Doc.
    """
    doc.tensor = np.zeros((0,), dtype="float32")
    SYNTAX_VECTORS.pop(doc, None)
    if Doc.has_extension("trf_data"):
        doc._.trf_data = None
    return doc
