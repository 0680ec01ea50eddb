"""The pipeline component `rst`: trees for the Docs of any pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.vocab import Vocab

from ..doc import EDUS_KEY, get_edus, get_tree, knows_sentences, set_edus, set_tree
from ..doc_layout import LAYOUT_KEY, get_layout, set_layout
from ..parser.component import SCORE_WEIGHTS
from ..scoring.scorer import score_trees
from . import DEFAULT_PIPELINE
from .pipe import PipelinePipe


@Language.factory(
    "rst",
    assigns=["doc.spans", "doc._.rst_tree"],
    default_config={"scorer": {"@scorers": "spacy_rst.rst_scorer.v1"}},
    default_score_weights=dict.fromkeys(SCORE_WEIGHTS),
)
class Rst(PipelinePipe):
    """Gives Docs EDUs and trees with a whole pipeline of its own, so that it does not matter which
    encoder, tokenizer or sentences the pipeline around it has.

    DOCS: docs/rst_component.md
    """

    def __init__(
        self,
        model: str | Path | Language = DEFAULT_PIPELINE,
        name: str = "rst",
        *,
        scorer: Callable[..., dict[str, Any]] | None = score_trees,
        nlp: Language | None = None,
    ) -> None:
        """Make the component.

        model (str | Path | Language): The pipeline that parses: the name of a bundled one, of a
            package, a folder, or the pipeline itself. Packages and folders are loaded when they
            are first needed, and saved with the component.
        name (str): The component's name.
        scorer (Callable | None): The scoring method.
        nlp (Language | None): Not used; spaCy gives it to every factory.
        """
        super().__init__(model, name, scorer)
        if self.bundled:
            self.pipeline  # noqa: B018  (now, so that processes that are forked later share it)

    def parse(self, docs: Sequence[Doc]) -> None:
        """Parse Docs together."""
        copies = [_copy_words(doc, self.pipeline.vocab) for doc in docs]
        for doc, parsed in zip(docs, self.pipeline.pipe(copies), strict=True):
            set_edus(doc, [doc[edu.start : edu.end] for edu in parsed.spans.get(EDUS_KEY) or ()])
            tree = get_tree(parsed)
            set_tree(doc, None if tree is None else tree.with_edus())


def _copy_words(doc: Doc, vocab: Vocab) -> Doc:
    """A Doc with what the pipeline inside may use of another one."""
    copy = Doc(
        vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        sent_starts=[token.is_sent_start for token in doc] if knows_sentences(doc) else None,
    )
    if LAYOUT_KEY in doc.spans:
        set_layout(copy, get_layout(doc))
    if doc.spans.get(EDUS_KEY):
        set_edus(copy, [copy[edu.start : edu.end] for edu in get_edus(doc)])
    return copy
