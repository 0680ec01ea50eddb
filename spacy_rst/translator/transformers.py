"""Neural translation with Hugging Face models: `spacy_rst.TransformersTranslator.v1`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from thinc.api import get_torch_default_device

from ..errors import Errors
from ..languages import base_code, normal_code
from ..windows import batch_by_size
from .protocol import EngineUnavailable, file_digest, unknown_pair
from .registry import translators

# Models name single languages. These are the largest ones of the groups that ISO 639-1 names.
IN_GROUP = {
    "ar": "arb", "az": "azj", "fa": "pes", "ku": "kmr", "lv": "lvs", "mg": "plt", "mn": "khk",
    "ms": "zsm", "ne": "npi", "no": "nob", "or": "ory", "ps": "pbt", "sq": "als", "sw": "swh",
    "uz": "uzn", "yi": "ydd",
}  # fmt: skip
MODEL_FILES = ("*.json", "*.model", "*.spm", "*.safetensors", "*.bin", "*.txt")
SPECIAL_PIECES = 4  # the end of the text, and the languages


class _Loaded(NamedTuple):
    net: Any
    tokenizer: Any
    max_length: int


@translators("spacy_rst.TransformersTranslator.v1")
@dataclass(eq=False)
class TransformersTranslator:
    """Translates with sequence-to-sequence models, such as Marian (OPUS-MT), M2M100, NLLB or
    mBART-50, on the device that spaCy uses. A model is loaded when it is first needed.

    model (str | dict[str, str]): The name or folder of a multilingual model, or one for each pair:
        `{"es-en": "Helsinki-NLP/opus-mt-es-en"}`.
    revision (str | None): The revision of models that are given by name.
    languages (dict[str, str] | None): The model's own codes for languages, where they cannot be
        found from ISO codes: `{"fa": "pes_Arab"}`.
    batch_tokens (int): The most word pieces in a batch, with its padding. Translations do not
        depend on it.
    num_beams (int): The number of beams in beam search.
    max_length (int): The most word pieces in a text and in its translation. Longer texts are
        translated in parts.
    """

    name = "transformers"

    model: str | dict[str, str]
    _: KW_ONLY
    revision: str | None = None
    languages: dict[str, str] | None = None
    batch_tokens: int = 4096
    num_beams: int = 4
    max_length: int = 512
    _loaded: dict[str, _Loaded] = field(default_factory=dict, init=False)
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        names = self.languages or {}
        self._languages = {normal_code(code): name for code, name in names.items()}

    def version(self, source: str, target: str) -> str:
        """RETURNS (str): The model's name or digest, and the options that change translations."""
        model = self._describe(self.model_for(source, target))
        languages = ",".join(f"{code}:{name}" for code, name in sorted(self._languages.items()))
        return f"{model},beams={self.num_beams},length={self.max_length},languages={languages}"

    def model_for(self, source: str, target: str) -> str:
        """Get the name or folder of the model for a pair."""
        if isinstance(self.model, str):
            return self.model
        pair = f"{normal_code(source)}-{normal_code(target)}"
        models = {"-".join(map(normal_code, key.split("-"))): self.model[key] for key in self.model}
        if pair not in models:
            raise unknown_pair(self, source, target, models)
        return models[pair]

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        model = self._load(self.model_for(source, target))
        prefix, options = self._choose_languages(model.tokenizer, source, target)
        room = model.max_length - SPECIAL_PIECES
        parts = [_split(model.tokenizer, text, room) if text.strip() else [] for text in segments]
        flat = [prefix + part for of_segment in parts for part in of_segment]
        translated = iter(self._generate(model, flat, options))
        return [
            " ".join(next(translated) for _ in of_segment) if of_segment else text
            for text, of_segment in zip(segments, parts, strict=True)
        ]

    def _generate(self, model: _Loaded, texts: list[str], options: dict[str, Any]) -> list[str]:
        results = [""] * len(texts)
        lengths = [len(model.tokenizer(text)["input_ids"]) for text in texts]
        # The longest first: all texts of a batch are padded to its longest one.
        order = sorted(range(len(texts)), key=lengths.__getitem__, reverse=True)
        for batch in batch_by_size(order, self.batch_tokens, lengths.__getitem__, padded=True):
            inputs = model.tokenizer(
                [texts[number] for number in batch],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=model.max_length,
            )
            with torch.inference_mode():
                generated = model.net.generate(
                    **inputs.to(model.net.device),
                    do_sample=False,
                    num_beams=self.num_beams,
                    # Not the length of the longest text, as results would depend on the batch.
                    max_length=model.max_length,
                    **options,
                )
            decoded = model.tokenizer.batch_decode(generated, skip_special_tokens=True)
            for number, translation in zip(batch, decoded, strict=True):
                results[number] = translation
        return results

    def _choose_languages(
        self, tokenizer: Any, source: str, target: str
    ) -> tuple[str, dict[str, Any]]:
        """Name the languages as the model needs it: a prefix of texts, or options of `generate`."""
        marian_codes = getattr(tokenizer, "supported_language_codes", None)
        if marian_codes:
            return self._find_code(marian_codes, target, source, target) + " ", {}
        if marian_codes is None and hasattr(tokenizer, "src_lang"):
            ids = getattr(tokenizer, "lang_code_to_id", None) or {
                token: tokenizer.convert_tokens_to_ids(token)
                for token in tokenizer.additional_special_tokens
            }
            tokenizer.src_lang = self._find_code(ids, source, source, target)
            target_code = self._find_code(ids, target, source, target)
            return "", {"forced_bos_token_id": ids[target_code]}
        return "", {}

    def _find_code(self, codes: Iterable[str], language: str, source: str, target: str) -> str:
        """Find a language among a model's codes, such as es, es_XX, spa_Latn or >>spa<<."""
        bare = {code: code.strip("<>") for code in codes}
        wanted = self._languages.get(normal_code(language), normal_code(language))
        base = base_code(language)
        for matches in (
            lambda name: name == wanted,
            lambda name: normal_code(name) == normal_code(wanted),
            lambda name: name.split("_")[0] == IN_GROUP.get(base, base),
            lambda name: base_code(name) == base,
        ):
            found = next((code for code, name in bare.items() if matches(name)), None)
            if found is not None:
                return found
        raise unknown_pair(self, source, target, bare.values())

    def _load(self, name: str) -> _Loaded:
        if name not in self._loaded:
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

            try:
                tokenizer = AutoTokenizer.from_pretrained(name, revision=self.revision)
                net = AutoModelForSeq2SeqLM.from_pretrained(name, revision=self.revision)
                net.to(get_torch_default_device()).eval()
            except (OSError, ValueError, RuntimeError, ImportError) as error:
                raise EngineUnavailable(Errors.R613.format(model=name, error=error)) from error
            positions = getattr(net.config, "max_position_embeddings", None) or self.max_length
            length = min(self.max_length, positions, tokenizer.model_max_length)
            self._loaded[name] = _Loaded(net, tokenizer, length)
        return self._loaded[name]

    def _describe(self, name: str) -> str:
        """Identify a model by its name and revision, or by the content of its folder."""
        folder = Path(name)
        if not folder.is_dir():
            return f"{name}@{self.revision or 'main'}"
        if name not in self._digests:
            files = sorted({file for pattern in MODEL_FILES for file in folder.glob(pattern)})
            content = b"".join(file.name.encode() + file_digest(file) for file in files)
            self._digests[name] = hashlib.sha256(content).hexdigest()[:16]
        return f"{folder.name}@{self._digests[name]}"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": {}}


def _split(tokenizer: Any, text: str, room: int) -> list[str]:
    """Halve a text until its parts fit into a model, between words if possible."""
    if len(text) < 2 or len(tokenizer.tokenize(text)) <= room:
        return [text]
    words = text.split()
    if len(words) > 1:
        middle = len(words) // 2
        halves = [" ".join(words[:middle]), " ".join(words[middle:])]
    else:  # in scripts without spaces, a word may be very long
        middle = len(text) // 2
        halves = [text[:middle], text[middle:]]
    return [part for half in halves for part in _split(tokenizer, half, room)]
