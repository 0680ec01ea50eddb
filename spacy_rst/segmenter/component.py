"""The pipeline components `edu_segmenter` and `sentence_edus`: from text to `doc.spans["edus"]`."""

# No `annotations` from __future__: spaCy checks the config by those of the class.
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from spacy.attrs import IS_SPACE
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.training import Example, validate_get_examples
from thinc.api import Model
from thinc.types import Floats1d

from ..doc import EDUS_KEY, set_edus
from ..errors import Errors, RstError
from ..gold import read_gold_starts
from ..head import get_net
from ..pipe import TorchPipe, default_model_config, read_layouts
from .boundaries import edus_from_starts, read_borders
from .model import build_edu_segmenter

DEFAULT_MODEL = default_model_config("spacy_rst.EduSegmenter.v1", build_edu_segmenter)

SCORE_WEIGHTS = {
    "edu_f": 1.0,
    "edu_p": None,
    "edu_r": None,
    "edu_span_f": None,
    "edu_per_lang": None,
}


@Language.factory(
    "edu_segmenter",
    assigns=["doc.spans"],
    default_config={
        "model": DEFAULT_MODEL,
        "threshold": 0.5,
        "use_sentences": True,
        "overwrite": False,
        "max_batch_tokens": 20_000,
        "scorer": {"@scorers": "spacy_rst.edu_scorer.v1"},
    },
    default_score_weights=SCORE_WEIGHTS,
)
class EduSegmenter(TorchPipe):
    """Divides each Doc into elementary discourse units, `doc.spans["edus"]`.

    nlp (Language): The pipeline.
    name (str): The component's name, under which its loss is recorded.
    model (Model[list[Doc], list[Floats1d]]): A `spacy_rst.EduSegmenter.v1`.
    threshold (float): An EDU begins where its probability is at least this. Lower it for more and
        shorter EDUs.
    use_sentences (bool): Begin an EDU with every sentence, where the Doc knows its sentences.
    overwrite (bool): Segment also Docs that have EDUs already, instead of keeping those.
    max_batch_tokens (int): The most tokens that are processed at once. A longer Doc goes alone.
    scorer (Callable | None): The scoring method.

    DOCS: docs/edu_segmenter.md
    """

    makes_edus = True

    def __init__(
        self,
        nlp: Language,
        name: str,
        model: Model[list[Doc], list[Floats1d]],
        threshold: float,
        use_sentences: bool,
        overwrite: bool,
        max_batch_tokens: int,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        super().__init__(nlp, name, model, max_batch_tokens, scorer)
        self._configured_threshold = _checked_threshold(threshold)
        self.use_sentences = use_sentences
        self.overwrite = overwrite

    @property
    def threshold(self) -> float:
        """RETURNS (float): The probability from which on a token begins an EDU. If it is set, the
        new value is saved with the pipeline."""
        return self.cfg.get("threshold", self._configured_threshold)

    @threshold.setter
    def threshold(self, threshold: float) -> None:
        self.cfg["threshold"] = _checked_threshold(threshold)

    def initialize(
        self,
        get_examples: Callable[[], Iterable[Example]],
        *,
        nlp: Language | None = None,
    ) -> None:
        """Check the training data and give the model new weights.

        Gold EDUs that begin inside a token of the predicted Doc are counted, and a warning says
        how many there are: the token itself will be learned as their start.

        get_examples (Callable): A function that returns the training examples.
        nlp (Language | None): The pipeline.
        RAISES (RstError): If the examples cannot be learned from.
        """
        validate_get_examples(get_examples, "EduSegmenter.initialize")
        n_examples = n_gold = n_edus = n_misaligned = 0
        for example in get_examples():
            n_examples += 1
            gold = read_gold_starts(example)
            if gold is not None:
                n_gold += 1
                n_edus += gold.n_edus
                n_misaligned += gold.n_misaligned
        # Without any data, for random weights, spaCy makes up a single example.
        if n_examples > 1 and not n_gold:
            raise RstError(Errors.R200.format(wanted="gold EDUs", name=self.name))
        if n_misaligned:
            message = Errors.R407.format(n_misaligned=n_misaligned, n_edus=n_edus, name=self.name)
            warnings.warn(message, stacklevel=2)
        self.initialize_model(get_examples)

    def predict_probs(self, docs: Iterable[Doc]) -> list[np.ndarray]:
        """Tell how likely an EDU begins at each token, whatever EDUs the Docs have.

        docs (Iterable[Doc]): The Docs, through which the encoder has gone.
        RETURNS (list[np.ndarray]): The probabilities of each Doc's tokens: the model's also at hard
            boundaries, 0 at white space.
        """
        docs = list(docs)
        all_log_odds = map(self.model.ops.to_numpy, self.predict_batches(docs))
        return [
            _sigmoid(log_odds) * (doc.to_array(IS_SPACE) == 0)
            for doc, log_odds in zip(docs, all_log_odds, strict=True)
        ]

    def predict(self, docs: Iterable[Doc]) -> list[np.ndarray | None]:
        """Find the starts of EDUs without changing the Docs.

        docs (Iterable[Doc]): The Docs.
        RETURNS (list[np.ndarray | None]): The probability of a start at each token of each Doc.
            None for a Doc that keeps the EDUs it has.
        """
        docs = list(docs)
        is_kept = [bool(doc.spans.get(EDUS_KEY)) and not self.overwrite for doc in docs]
        segmented = [doc for doc, kept in zip(docs, is_kept, strict=True) if not kept]
        probs = iter(self.predict_probs(segmented))
        return [None if kept else next(probs) for kept in is_kept]

    def set_annotations(self, docs: Iterable[Doc], probs: Sequence[np.ndarray | None]) -> None:
        """Put EDUs on Docs. A tree over other EDUs is taken off."""
        for doc, doc_probs in zip(docs, probs, strict=True):
            if doc_probs is None:
                continue
            borders = read_borders(doc)
            starts = borders.choose_starts(doc_probs >= self.threshold, self.use_sentences)
            set_edus(doc, edus_from_starts(doc, starts, borders))

    def learn(self, examples: Sequence[Example]) -> dict[str, float]:
        """Find the gradients of a batch."""
        scores, backprop = self.model.begin_update([example.predicted for example in examples])
        loss, d_scores = self.get_loss(examples, scores)
        backprop(d_scores)
        return {self.name: loss}

    def get_loss(
        self, examples: Iterable[Example], scores: Sequence[Floats1d]
    ) -> tuple[float, list[Floats1d]]:
        """Compare a batch with its gold EDUs: binary cross entropy, summed over the tokens that are
        not white space, a mean over the documents or the EDUs. (The parser sums over splits in the
        same way, so that neither drowns the other in a shared encoder.) Returns the loss, and the
        gradients of the scores."""
        examples = list(examples)
        xp = self.model.ops.xp
        golds = [read_gold_starts(example) for example in examples]
        if get_net(self.model).loss_per == "edu":
            divisor = sum(gold.n_edus for gold in golds if gold is not None)
        else:
            divisor = sum(gold is not None for gold in golds)
        loss, d_scores = 0.0, []
        for example, gold, log_odds in zip(examples, golds, scores, strict=True):
            if gold is None:
                d_scores.append(xp.zeros_like(log_odds))
                continue
            weight = (example.predicted.to_array(IS_SPACE) == 0).astype("f") / divisor
            starts, weight = xp.asarray(gold.starts, dtype="f"), xp.asarray(weight)
            loss += float((weight * (xp.logaddexp(0, log_odds) - starts * log_odds)).sum())
            d_scores.append(weight * (_sigmoid(log_odds, xp) - starts))
        return loss, d_scores


def _checked_threshold(threshold: float) -> float:
    if not 0 <= threshold <= 1:
        wanted = "from 0 to 1"
        raise RstError(Errors.R300.format(name="threshold", wanted=wanted, value=threshold))
    return threshold


def _sigmoid(log_odds: Any, xp: Any = np) -> Any:
    # Through tanh, which does not overflow.
    return 0.5 + 0.5 * xp.tanh(0.5 * log_odds)


@Language.factory(
    "sentence_edus",
    assigns=["doc.spans"],
    requires=["doc.sents"],
    default_config={"overwrite": False, "scorer": {"@scorers": "spacy_rst.edu_scorer.v1"}},
    default_score_weights=SCORE_WEIGHTS,
)
class SentenceEdus(Pipe):
    """Takes each sentence of a Doc as an EDU, without the white space around it. Blocks of the
    layout divide sentences, too.

    nlp (Language): The pipeline.
    name (str): The component's name.
    overwrite (bool): Replace the EDUs that a Doc has already, instead of keeping them.
    scorer (Callable | None): The scoring method.

    DOCS: docs/edu_segmenter.md#sentences-as-edus
    """

    makes_edus = True

    def __init__(
        self,
        nlp: Language,
        name: str,
        overwrite: bool,
        scorer: Callable[..., dict[str, Any]] | None,
    ) -> None:
        self.name = name
        self.overwrite = overwrite
        self.scorer = scorer

    def __call__(self, doc: Doc) -> Doc:
        """Put EDUs on a Doc, which must have sentence boundaries if it has text."""
        if doc.spans.get(EDUS_KEY) and not self.overwrite:
            return doc
        read_layouts([doc])
        borders = read_borders(doc, guessed_sentences=True)
        if not borders.is_space.all() and not doc.has_annotation("SENT_START"):
            raise RstError(Errors.R409.format(name=self.name))
        starts = borders.choose_starts(borders.sentences)
        set_edus(doc, edus_from_starts(doc, starts, borders))
        return doc
