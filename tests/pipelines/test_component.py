"""The `rst` component in pipelines of other people."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

import numpy as np
import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

import spacy_rst
from spacy_rst import RstError
from spacy_rst.cli.parse import EduUnits, load_pipeline
from spacy_rst.doc_layout import LAYOUT_KEY, get_layout, set_layout
from spacy_rst.layout import read_plain
from spacy_rst.pipelines.component import Rst
from tests.parser.pipelines import OWN_TOK2VEC, TOK2VEC_LISTENER, WIDTH

TEXTS = [
    "It rained all day, so we stayed at home, although we had wanted to swim.",
    "The town is small. If you come by train, you can walk to the sea.",
    "",
    " \n\n ",
    "Yes.",
    "Mary left because she was tired. John, who had waited, went with her.\n\nNobody spoke.",
]


def tagging_pipeline() -> Language:
    """An English pipeline with a trained tok2vec and tagger."""
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", config={"model": OWN_TOK2VEC})
    model = {"@architectures": "spacy.Tagger.v2", "tok2vec": TOK2VEC_LISTENER}
    nlp.add_pipe("tagger", config={"model": model})
    docs = [nlp.make_doc(text) for text in TEXTS if text.strip()]
    examples = [Example.from_dict(doc, {"tags": [token.shape_ for token in doc]}) for doc in docs]
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(3):
        nlp.update(examples, sgd=optimizer)
    return nlp


@pytest.fixture(scope="module")
def reference() -> Language:
    return spacy_rst.load()


@pytest.fixture(scope="module")
def plain() -> Language:
    return tagging_pipeline()


@pytest.fixture(scope="module")
def nlp(plain) -> Language:
    with_trees = tagging_pipeline().from_bytes(plain.to_bytes())
    with_trees.add_pipe("rst")
    return with_trees


def tree_of(doc: Doc) -> tuple | None:
    """A Doc's EDUs and splits, without the scores, whose last digits depend on the batch."""
    tree = doc._.rst_json
    return tree and (tree["edu_chars"], tree["splits"])


def trees_of(docs: Iterable[Doc]) -> list[tuple | None]:
    return [tree_of(doc) for doc in docs]


def test_trees_are_those_of_the_bundled_pipeline(nlp, reference):
    for text in TEXTS:
        doc, expected = nlp(text), reference(text)
        assert [token.text for token in doc] == [token.text for token in expected]
        assert tree_of(doc) == tree_of(expected)
        if text.strip():
            assert [leaf.span for leaf in doc._.rst_tree.leaves()] == list(doc.spans["edus"])
        else:
            assert doc._.rst_tree is None


def test_what_the_pipeline_gives_a_doc_stays(nlp, plain):
    bare = nlp.make_doc(TEXTS[0])
    bare.spans["mine"] = [bare[0:2]]
    bare.user_data["mine"] = 1
    doc, expected = nlp(bare), plain(TEXTS[0])
    np.testing.assert_array_equal(doc.tensor, expected.tensor)
    assert doc.tensor.shape == (len(doc), WIDTH)
    assert [token.tag_ for token in doc] == [token.tag_ for token in expected]
    assert list(doc.spans) == ["mine", "edus"] and doc.spans["mine"][0].text == "It rained"
    assert doc.user_data["mine"] == 1
    assert not doc.has_annotation("SENT_START")


def test_tokens_and_sentences_of_the_pipeline_are_used(nlp, reference):
    text = "We don't know it, because they can't tell."
    doc = nlp(text)
    assert [token.text for token in doc] != [token.text for token in reference(text)]
    assert "".join(edu.text_with_ws for edu in doc._.rst_tree.edus) == text
    doc = nlp.make_doc("We went home it rained")
    doc[3].is_sent_start = True
    assert [edu.text for edu in nlp(doc).spans["edus"]] == ["We went home", "it rained"]


def test_a_stream_gives_the_same_trees_in_batches_and_processes(nlp):
    expected = trees_of(map(nlp, TEXTS))
    assert trees_of(nlp.pipe(TEXTS, batch_size=2)) == expected
    assert trees_of(nlp.pipe(TEXTS, batch_size=2, n_process=2)) == expected


def test_a_bad_doc_goes_to_the_error_handler_alone(nlp):
    docs = [nlp.make_doc(text) for text in TEXTS]
    docs[1].spans["edus"] = [docs[1][0:5], docs[1][3:9]]
    failed: list[Doc] = []
    component = Rst(nlp.get_pipe("rst").pipeline)
    component.set_error_handler(lambda name, pipe, docs, error: failed.extend(docs))
    found = list(component.pipe(docs, batch_size=len(docs)))
    assert failed == [docs[1]]
    assert found == [docs[0], *docs[2:]]
    assert tree_of(found[0]) == tree_of(nlp(TEXTS[0]))


def test_edus_and_layout_of_a_doc_are_used(nlp):
    doc = nlp.make_doc(TEXTS[0])
    doc.spans["edus"] = [doc[:10], doc[10:]]
    assert len(nlp(doc)._.rst_tree) == 2 and len(doc.spans["edus"]) == 2
    seen = []
    Language.component("look", func=lambda doc: seen.append(get_layout(doc)) or doc)
    component = Rst(spacy_rst.load())
    component.pipeline.add_pipe("look", first=True)
    text = "# Title\n\nIt rained."
    doc = nlp.make_doc(text)
    set_layout(doc, read_plain(text))
    component(doc)
    assert seen == [get_layout(doc)] and seen[0]
    assert LAYOUT_KEY not in component(nlp.make_doc(text)).spans


# Saving


def test_the_bundled_pipeline_is_saved_by_name_and_version(nlp, reference, tmp_path):
    nlp.to_disk(tmp_path)
    assert [path.name for path in (tmp_path / "rst").iterdir()] == ["cfg"]
    saved = srsly.read_json(tmp_path / "rst" / "cfg")
    assert saved == {"model": "xx_rst_sm", "version": reference.meta["version"]}
    assert len(nlp.get_pipe("rst").to_bytes()) < 1_000
    expected = trees_of(nlp.pipe(TEXTS))
    assert trees_of(spacy.load(tmp_path).pipe(TEXTS)) == expected
    blank = spacy.blank("en")
    blank.add_pipe("rst").from_bytes(nlp.get_pipe("rst").to_bytes())
    assert trees_of(blank.pipe(TEXTS)) == expected
    srsly.write_json(tmp_path / "rst" / "cfg", {"model": "xx_rst_sm", "version": "0.0.1"})
    with pytest.warns(UserWarning, match=r"R555.*0\.0\.1"):
        spacy.load(tmp_path)


def test_another_pipeline_is_saved_as_a_whole(tmp_path):
    folder = tmp_path / "parser"
    spacy_rst.load(config={"components.edu_segmenter.threshold": 0.0}).to_disk(folder)
    nlp = spacy.blank("en")
    nlp.add_pipe("rst", config={"model": str(folder)})
    doc = nlp(TEXTS[0])
    # With a threshold of 0 every word is an EDU.
    assert len(doc.spans["edus"]) == sum(not token.is_punct for token in doc)
    nlp.to_disk(tmp_path / "saved")
    content = nlp.to_bytes()
    shutil.rmtree(folder)
    loaded = spacy.load(tmp_path / "saved")
    again = spacy.blank("en")
    again.add_pipe("rst", config={"model": str(folder)})
    again.from_bytes(content)
    loaded.to_disk(tmp_path / "second")
    for other in (loaded, again, spacy.load(tmp_path / "second")):
        assert tree_of(other(TEXTS[0])) == tree_of(doc)


def test_the_command_line_takes_such_a_pipeline(nlp, tmp_path):
    nlp.to_disk(tmp_path)
    text = "It rained, so we stayed. Nobody minded."
    doc = load_pipeline(str(tmp_path))(text)
    assert tree_of(doc) == tree_of(nlp(text)) and len(doc.spans["edus"]) == 3
    sentences = load_pipeline(str(tmp_path), EduUnits.sentences)(text)
    assert len(sentences.spans["edus"]) == 2 and sentences._.rst_tree is not None


# Mistakes


def test_a_pipeline_that_is_not_there(tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("rst", config={"model": str(tmp_path / "nothing")})
    for action in (lambda: nlp(TEXTS[0]), nlp.initialize):
        with pytest.raises(RstError, match=r"R091.*nothing.*xx_rst_sm"):
            action()


def test_a_pipeline_without_a_parser(tmp_path):
    spacy.blank("en").to_disk(tmp_path)
    with pytest.raises(RstError, match=r"R554.*none"):
        Rst(tmp_path)(spacy.blank("en").make_doc("Yes."))
    with pytest.raises(RstError, match="R554"):
        Rst(spacy.blank("en"))
