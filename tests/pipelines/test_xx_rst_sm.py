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


def test_what_is_bundled(nlp):
    assert nlp.pipe_names[:4] == ["tok2vec", "syntax", "edu_segmenter", "rst_parser"]
    assert len(nlp.get_pipe("rst_parser").labels) > 18
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


def test_transformers_are_not_imported_for_it_but_stay_available():
    assert run_python(LOADED_MODULES).splitlines() == ["[]", "True"]


def test_threads_may_load_it_at_once_while_others_make_pipelines():
    assert run_python(THREADS).split() == ["8", "1", "20", "True"]


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


def test_it_is_small_and_holds_no_paths_and_no_training_texts():
    config = load_config(pipeline_path() / "config.cfg", interpolate=True)
    assert not any(config["paths"].values())
    for place, value in walk_dict(config):
        assert not (isinstance(value, str) and Path(value).is_absolute()), place
    sizes = {path: path.stat().st_size for path in pipeline_path().rglob("*") if path.is_file()}
    assert sizes[pipeline_path() / "vocab" / "strings.json"] < 100_000
    assert sum(sizes.values()) <= MAX_MEGABYTES * 1e6


def test_parsing_is_deterministic_however_it_was_loaded(nlp):
    again = spacy.load(pipeline_path())
    for text in DEMO.values():
        assert len(nlp(text)._.rst_tree) > 4
        assert parse_of(nlp(text)) == parse_of(nlp(text)) == parse_of(again(text))


def trees_of(docs: list[Doc]) -> list[list | None]:
    """EDUs, splits and labels, without probabilities, whose last digits may differ: sums of numbers
    depend on how many are computed at once."""
    parses = map(parse_of, docs)
    return [parse and [parse[key] for key in ("edu_chars", "splits", "labels")] for parse in parses]


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
        assert trees_of(docs) == trees_of(expected), (batch_size, processes)


def test_streams_of_documents(nlp):
    check_stream(nlp, mixed_texts(60, long_words=3000), batch_sizes=[7, 1, 64], n_process=2)


@pytest.mark.slow
def test_long_streams_of_documents(nlp):
    check_stream(nlp, mixed_texts(1000, long_words=50_000), batch_sizes=[64, 1, 17], n_process=2)
