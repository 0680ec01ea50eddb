from __future__ import annotations

from spacy.tokens import Doc

import spacy_rst

TEXT = "It rained all day, so we stayed at home, although we had wanted to swim.."


def test_docs_of_the_bundled_pipeline_are_small_and_whole():
    nlp = spacy_rst.load()
    kept = spacy_rst.load(exclude=["vector_cleaner"])(TEXT)
    assert kept.tensor.shape == (len(kept), 256)
    for doc in (nlp(TEXT), *nlp.pipe([TEXT])):
        assert doc._.rst_json == kept._.rst_json
        assert len(doc.to_bytes()) < 5_000 < len(kept.to_bytes())
        assert not doc.has_vector and doc.vector.size == doc[0].vector.size == 0
        assert doc[:3].as_doc().text == "It rained all "
        assert Doc(nlp.vocab).from_bytes(doc.to_bytes())._.rst_json == kept._.rst_json
