"""The bundled pipeline: what it is made of, and that it takes whatever text it is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_config, walk_dict

import spacy_rst
from spacy_rst import RstError
from spacy_rst.pipelines import DEFAULT_PIPELINE, pipeline_names, pipeline_path
from tests.processes import run_python

from .texts import DEMO, mixed_texts

MAX_MEGABYTES = 60
LOADED_MODULES = """
import sys
import spacy_rst
nlp = spacy_rst.load()
nlp("It rained, so we stayed.")
print([name for name in ("transformers", "spacy_transformers") if name in sys.modules])
import spacy
print(spacy.blank("xx").has_factory("transformer"))
"""

THREADS = """
from threading import Barrier, Thread
import spacy, spacy_rst
barrier, trees, others = Barrier(9), [], []

def load():
    barrier.wait()
    trees.append(len(spacy_rst.load()("It rained, so we stayed.")._.rst_tree))

def make_other_pipelines():
    barrier.wait()
    others.extend(spacy.blank("xx").has_factory("transformer") for _ in range(20))

threads = [*(Thread(target=load) for _ in range(8)), Thread(target=make_other_pipelines)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(trees), len(set(trees)), len(others), all(others))
"""


@pytest.fixture(scope="module")
def nlp() -> Language:
    return spacy_rst.load()


def parse_of(doc: Doc) -> dict | None:
    return doc.user_data.get("rst_tree")


def check_tree(doc: Doc) -> None:
    """The EDUs cover all of the text, and the tree all of the EDUs."""
    edus = doc.spans["edus"]
    covered = {token.i for edu in edus for token in edu}
    assert covered >= {token.i for token in doc if not token.is_space}
    assert sum(map(len, edus)) == len(covered)
    tree = doc._.rst_tree
    if not doc.text.strip():
        assert tree is None and not len(edus)
    else:
        assert [leaf.span for leaf in tree.leaves()] == list(edus)
        assert all(0 <= score.split <= 1 and 0 <= score.label <= 1 for score in tree.scores or ())


def test_components(nlp):
    assert nlp.pipe_names[:4] == ["tok2vec", "syntax", "edu_segmenter", "rst_parser"]
    assert len(nlp.get_pipe("rst_parser").labels) > 18


def test_what_is_bundled():
    assert DEFAULT_PIPELINE in pipeline_names()
    with pytest.raises(RstError, match=r"\[R091\].*'en_rst_lg'.*xx_rst_sm"):
        spacy_rst.load("en_rst_lg")
    with pytest.raises(RstError, match="R091"):
        spacy_rst.load(f"../pipelines/{DEFAULT_PIPELINE}")


def test_options_are_those_of_spacy():
    nlp = spacy_rst.load(
        disable=["rst_parser"], config={"components.edu_segmenter.threshold": 0.999}
    )
    assert nlp.pipe_names[:3] == ["tok2vec", "syntax", "edu_segmenter"]
    assert "rst_parser" in nlp.disabled
    assert nlp.get_pipe("edu_segmenter").threshold == 0.999
    own_vocab = spacy.blank("xx").vocab
    assert spacy_rst.load(vocab=own_vocab, exclude=["rst_parser"]).vocab is own_vocab


def test_spacy_loads_the_folder(nlp):
    loaded = spacy.load(pipeline_path())
    assert parse_of(loaded(DEMO["english"])) == parse_of(nlp(DEMO["english"]))


def test_transformers_are_not_imported_for_it_but_stay_available():
    assert run_python(LOADED_MODULES).splitlines() == ["[]", "True"]


def test_threads_may_load_it_at_once_while_others_make_pipelines():
    assert run_python(THREADS).split() == ["8", "1", "20", "True"]


def test_size():
    files = [path for path in pipeline_path().rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= MAX_MEGABYTES * 1e6


def test_facts_about_it():
    meta = srsly.read_json(pipeline_path() / "meta.json")
    assert f"{meta['lang']}_{meta['name']}" == DEFAULT_PIPELINE
    assert re.fullmatch(r"\d+\.\d+\.\d+", meta["version"])
    assert meta["license"] and meta["description"] and meta["author"]
    assert len(meta["sources"]) > 10
    assert all(source["name"] and source["license"] for source in meta["sources"])
    scores = meta["performance"]
    assert {"edu_f", "rst_span", "rst_full"} <= set(scores)
    assert all(0 <= score <= 1 for score in scores.values())


def test_no_paths_and_no_training_texts_are_in_it():
    config = load_config(pipeline_path() / "config.cfg", interpolate=True)
    assert not any(config["paths"].values())
    for place, value in walk_dict(config):
        assert not (isinstance(value, str) and Path(value).is_absolute()), place
    assert (pipeline_path() / "vocab" / "strings.json").stat().st_size < 100_000


def test_parsing_is_deterministic(nlp):
    again = spacy_rst.load()
    for text in DEMO.values():
        assert len(nlp(text)._.rst_tree) > 4
        assert parse_of(nlp(text)) == parse_of(nlp(text)) == parse_of(again(text))


def test_wrong_input(nlp):
    for value in (None, 3, ["a list"]):
        with pytest.raises(ValueError, match="E1041"):
            nlp(value)
    short = spacy_rst.load(exclude=["rst_parser", "edu_segmenter"])
    short.max_length = 10
    with pytest.raises(ValueError, match="E088"):
        short("More than ten characters.")


def test_one_bad_document_does_not_take_others_along():
    nlp = spacy_rst.load()
    failed = []
    nlp.set_error_handler(lambda name, _, docs, error: failed.append(error))
    overlapping = nlp.make_doc("One two three.")
    overlapping.spans["edus"] = [overlapping[:2], overlapping[1:]]
    docs = list(nlp.pipe([nlp.make_doc("Yes."), overlapping, nlp.make_doc("No.")]))
    assert [doc.text for doc in docs] == ["Yes.", "No."]
    assert [error.code for error in failed] == ["R022"]


def same_trees(first: Doc, second: Doc) -> bool:
    """Whether two parses agree. Probabilities may differ in their last digits, as sums of numbers
    depend on how many are computed at once."""
    ours, theirs = parse_of(first), parse_of(second)
    if ours is None or theirs is None:
        return ours is theirs
    return all(ours[key] == theirs[key] for key in ("edu_chars", "splits", "labels"))


def check_stream(nlp: Language, texts: list[str], batch_sizes: list[int], n_process: int) -> None:
    nlp.max_length = 10_000_000
    expected = list(nlp.pipe(texts, batch_size=batch_sizes[0]))
    assert [doc.text for doc in expected] == texts
    for doc in expected:
        check_tree(doc)
    runs = [(size, 1) for size in batch_sizes[1:]] + [(batch_sizes[0], n_process)]
    for batch_size, processes in runs:
        docs = list(nlp.pipe(texts, batch_size=batch_size, n_process=processes))
        assert [doc.text for doc in docs] == texts
        differing = [
            number
            for number, (ours, theirs) in enumerate(zip(docs, expected, strict=True))
            if not same_trees(ours, theirs)
        ]
        assert differing == [], (batch_size, processes)


def test_streams_of_documents(nlp):
    check_stream(nlp, mixed_texts(60, long_words=3000), batch_sizes=[7, 1, 64], n_process=2)


@pytest.mark.slow
def test_long_streams_of_documents(nlp):
    check_stream(nlp, mixed_texts(1000, long_words=50_000), batch_sizes=[64, 1, 17], n_process=2)
