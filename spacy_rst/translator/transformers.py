"""Neural translation with Hugging Face models: `spacy_rst.TransformersTranslator.v1`."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Errors, RstError
from ..languages import base_code, normal_code
from .protocol import EngineUnavailable, check_positive, digest_of, unknown_pair
from .registry import translators

# Models name the single languages; these are the largest of their groups.
IN_GROUP = {
    "ar": "arb", "az": "azj", "fa": "pes", "ku": "kmr", "lv": "lvs", "mg": "plt", "mn": "khk",
    "ms": "zsm", "ne": "npi", "no": "nob", "or": "ory", "ps": "pbt", "sq": "als", "sw": "swh",
    "uz": "uzn", "yi": "ydd",
}  # fmt: skip
MODEL_FILES = ("*.json", "*.model", "*.spm", "*.safetensors", "*.bin", "*.txt")
# The end of the text, and what names the languages.
SPECIAL_PIECES = 4


class _Loaded(NamedTuple):
    net: Any
    tokenizer: Any
    length: int  # how many word pieces a text and its translation have at most


@translators("spacy_rst.TransformersTranslator.v1")
@dataclass(eq=False)
class TransformersTranslator:
    """Translates with sequence-to-sequence models, such as Marian (OPUS-MT), M2M100, NLLB or
    mBART-50. A model is loaded when it is first needed.

    model (str | None): A multilingual model for all pairs: its name or folder.
    models (dict[str, str] | None): Instead, a model for each pair:
        `{"es-en": "Helsinki-NLP/opus-mt-es-en"}`.
    revision (str | None): The revision of the models to load, where they come by name.
    languages (dict[str, str] | None): How the model calls languages whose codes it does not know:
        `{"fa": "pes_Arab"}`.
    device (str): Where to compute: "cpu", "cuda", or "auto" for a GPU if there is one.
    batch_tokens (int): How many word pieces are in a batch at most, with its padding. Translations
        do not depend on it.
    num_beams (int): How many translations are pursued at a time.
    max_length (int): How many word pieces a text and its translation have at most. Longer texts are
        translated in parts.
    """

    name = "transformers"

    model: str | None = None
    _: KW_ONLY
    models: dict[str, str] | None = None
    revision: str | None = None
    languages: dict[str, str] | None = None
    device: str = "auto"
    batch_tokens: int = 4096
    num_beams: int = 4
    max_length: int = 512
    _loaded: dict[str, _Loaded] = field(default_factory=dict, init=False)
    _digests: dict[str, str] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if (self.model is None) == (not self.models):
            raise RstError(Errors.R614)
        check_positive(
            batch_tokens=self.batch_tokens, num_beams=self.num_beams, max_length=self.max_length
        )
        self._models = {_pair(name): path for name, path in (self.models or {}).items()}
        names = self.languages or {}
        self._languages = {normal_code(code): name for code, name in names.items()}

    @property
    def version(self) -> str:
        """RETURNS (str): Names or digests of all models, with the options that matter."""
        names = [self.model] if self.model is not None else sorted(set(self._models.values()))
        return self._version_with(names)

    def pair_version(self, source: str, target: str) -> str:
        """RETURNS (str): Name or digest of the model for a pair, with the options that matter."""
        return self._version_with([self.model_for(source, target)])

    def model_for(self, source: str, target: str) -> str:
        """RETURNS (str): The name or folder of the model for a pair."""
        if self.model is not None:
            return self.model
        pair = normal_code(source), normal_code(target)
        if pair not in self._models:
            raise unknown_pair(self, source, target, map("-".join, self._models))
        return self._models[pair]

    def translate(self, segments: Sequence[str], source: str, target: str) -> list[str]:
        """Translate segments. See `Translator.translate`."""
        model = self._load(self.model_for(source, target))
        prefix, options = self._choose_languages(model.tokenizer, source, target)
        room = model.length - SPECIAL_PIECES
        parts = [_split(model.tokenizer, text, room) if text.strip() else [] for text in segments]
        flat = [prefix + part for of_segment in parts for part in of_segment]
        translated = iter(self._generate(model, flat, options))
        return [
            " ".join(next(translated) for _ in of_segment) if of_segment else text
            for text, of_segment in zip(segments, parts, strict=True)
        ]

    def _generate(self, model: _Loaded, texts: list[str], options: dict[str, Any]) -> list[str]:
        import torch

        if not texts:
            return []
        results = [""] * len(texts)
        lengths = [len(pieces) for pieces in model.tokenizer(texts)["input_ids"]]
        for batch in _batches(lengths, self.batch_tokens):
            inputs = model.tokenizer(
                [texts[number] for number in batch],
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=model.length,
            )
            with torch.inference_mode():
                generated = model.net.generate(
                    **inputs.to(model.net.device),
                    do_sample=False,
                    num_beams=self.num_beams,
                    # Not by the longest text of the batch: results would depend on the batch.
                    max_length=model.length,
                    **options,
                )
            decoded = model.tokenizer.batch_decode(generated, skip_special_tokens=True)
            for number, translation in zip(batch, decoded, strict=True):
                results[number] = translation
        return results

    def _choose_languages(
        self, tokenizer: Any, source: str, target: str
    ) -> tuple[str, dict[str, Any]]:
        """Tell the model about the languages, in its own way: by what is put before texts, or by
        options for `generate`."""
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
        for is_it in (
            lambda name: name == wanted,
            lambda name: normal_code(name) == normal_code(wanted),
            lambda name: name.split("_")[0] == IN_GROUP.get(base, base),
            lambda name: base_code(name) == base,
        ):
            found = next((code for code, name in bare.items() if is_it(name)), None)
            if found is not None:
                return found
        raise unknown_pair(self, source, target, bare.values())

    def _load(self, name: str) -> _Loaded:
        if name not in self._loaded:
            import torch
            from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

            device = self.device
            if device == "auto":
                device = "cuda" if torch.cuda.is_available() else "cpu"
            try:
                tokenizer = AutoTokenizer.from_pretrained(name, revision=self.revision)
                net = AutoModelForSeq2SeqLM.from_pretrained(name, revision=self.revision)
                net.to(device).eval()
            except (OSError, ValueError, RuntimeError, ImportError) as error:
                raise EngineUnavailable(Errors.R613.format(model=name, error=error)) from error
            positions = getattr(net.config, "max_position_embeddings", None) or self.max_length
            length = min(self.max_length, positions, tokenizer.model_max_length)
            self._loaded[name] = _Loaded(net, tokenizer, length)
        return self._loaded[name]

    def _version_with(self, names: Sequence[str]) -> str:
        models = "+".join(map(self._describe, names))
        languages = ",".join(f"{code}:{name}" for code, name in sorted(self._languages.items()))
        options = f"beams={self.num_beams},length={self.max_length},languages={languages or '-'}"
        return f"{models},{options}"

    def _describe(self, name: str) -> str:
        """Name a model so that another one is never taken for it, by what its folder holds."""
        if name not in self._digests:
            folder = Path(name)
            if folder.is_dir():
                digest = hashlib.sha256()
                for file in sorted({file for end in MODEL_FILES for file in folder.glob(end)}):
                    digest.update(file.name.encode())
                    digest.update(digest_of(file))
                self._digests[name] = f"{folder.name}@{digest.hexdigest()[:16]}"
            else:
                self._digests[name] = f"{name}@{self.revision or 'main'}"
        return self._digests[name]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": {}}


def _pair(name: str) -> tuple[str, str]:
    source, _, target = name.partition("-")
    if not source or not target:
        raise RstError(Errors.R614)
    return normal_code(source), normal_code(target)


def _batches(lengths: Sequence[int], max_tokens: int) -> Iterator[list[int]]:
    """Put texts of similar length together, the longest first, which counts for all of its batch
    because of the padding."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if batch and lengths[batch[0]] * (len(batch) + 1) > max_tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch


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
