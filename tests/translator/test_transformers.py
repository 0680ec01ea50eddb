"""Translation with tiny models: real classes and tokenizers, random weights."""

from __future__ import annotations

import pickle
import shutil

import pytest
from spacy.util import registry

from spacy_rst.errors import RstError
from spacy_rst.translator.protocol import EngineUnavailable
from spacy_rst.translator.transformers import TransformersTranslator, _split
from tests.tiny_models import SENTENCES

from .tiny_models import build_nllb_tokenizer, build_tiny_m2m100, build_tiny_marian

TEXTS = [*SENTENCES, "El perro", "perro", "El perro duerme", "Собака спит", "a", "El"]


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    return build_tiny_marian(tmp_path_factory.mktemp("marian"))


@pytest.fixture(scope="module")
def m2m100(tmp_path_factory):
    return build_tiny_m2m100(tmp_path_factory.mktemp("m2m100"))


def engine_for(model, **options):
    options = {"max_length": 24, "num_beams": 1, **options}
    return TransformersTranslator({"es-en": model}, **options)


@pytest.mark.parametrize("num_beams", [1, 3])
def test_translations_do_not_depend_on_the_batch(marian, num_beams):
    alone = engine_for(marian, num_beams=num_beams, batch_tokens=1)
    one_by_one = [alone.translate([text], "es", "en")[0] for text in TEXTS]
    assert len(set(one_by_one)) > len(TEXTS) // 2
    for batch_tokens in (1, 40, 100_000):
        engine = engine_for(marian, num_beams=num_beams, batch_tokens=batch_tokens)
        assert engine.translate(TEXTS, "es", "en") == one_by_one
        assert engine.translate(TEXTS[::-1], "es", "en") == one_by_one[::-1]


def test_translations_are_those_of_the_model(marian):
    from transformers import MarianMTModel, MarianTokenizer

    tokenizer, net = MarianTokenizer.from_pretrained(marian), MarianMTModel.from_pretrained(marian)
    inputs = tokenizer(["El perro duerme"], return_tensors="pt")
    generated = net.eval().generate(**inputs, num_beams=2, max_length=24)
    expected = tokenizer.batch_decode(generated, skip_special_tokens=True)
    engine = engine_for(marian, num_beams=2)
    assert engine.translate(["El perro duerme"], "es", "en") == expected


def test_segments_without_text_are_not_sent_and_odd_ones_break_nothing(marian):
    engine = engine_for(marian)
    alone = engine.translate(["perro"], "es", "en")
    assert engine.translate(["", "perro", " \n"], "es", "en") == ["", *alone, " \n"]
    assert engine.translate([], "es", "en") == []
    odd = ["a\nb", "<b>perro</b>", "</s> <pad> >>x<<", "x\0y", "🙂"]
    assert len(engine.translate(odd, "es", "en")) == len(odd)


@pytest.mark.parametrize(
    "long", [" ".join(["perro", "duerme", "jardín", "llueve"] * 200), "狗在花园里睡觉" * 100]
)
def test_long_segments_are_translated_in_parts_and_whole(marian, long):
    engine = engine_for(marian, max_length=16)
    tokenizer = engine._load(marian).tokenizer
    parts = _split(tokenizer, long, 12)
    assert " ".join(parts).split() == long.split() or "".join(parts) == long
    assert all(len(tokenizer.tokenize(part)) <= 12 for part in parts)
    translated = engine.translate([long, "perro"], "es", "en")
    assert translated[0] == " ".join(engine.translate(parts, "es", "en"))
    assert translated[1] == engine.translate(["perro"], "es", "en")[0]


def test_each_pair_has_its_model(marian, tmp_path):
    other = build_tiny_marian(tmp_path / "other", seed=1)
    engine = TransformersTranslator({"es-en": marian, "eus-eng": other}, num_beams=1, max_length=24)
    spanish = engine.translate(SENTENCES, "spa", "eng")
    assert spanish == engine_for(marian).translate(SENTENCES, "es", "en")
    assert engine.translate(SENTENCES, "eu", "en") != spanish
    with pytest.raises(RstError, match=r"R600.*from 'de' to 'en'.*es-en, eu-en"):
        engine.translate(["Hund"], "de", "en")


def test_versions_tell_models_and_options_apart(marian, tmp_path):
    copy = shutil.copytree(marian, tmp_path / "a" / "model")
    moved = shutil.copytree(marian, tmp_path / "b" / "model")
    other = build_tiny_marian(tmp_path / "c" / "model", seed=1)
    version = engine_for(str(copy)).version("es", "en")
    assert engine_for(str(moved)).version("es", "en") == version
    different = [
        engine_for(other),
        engine_for(str(copy), num_beams=2),
        engine_for(str(copy), max_length=25),
        engine_for("Helsinki-NLP/opus-mt-es-en"),
        engine_for("Helsinki-NLP/opus-mt-es-en", revision="v2"),
    ]
    versions = {engine.version("es", "en") for engine in different}
    assert len(versions | {version}) == 6
    assert engine_for(str(copy), batch_tokens=7).version("es", "en") == version
    two = TransformersTranslator({"es-en": str(copy), "eu-en": other}, num_beams=1, max_length=24)
    assert two.version("es", "en") == version != two.version("eu", "en")


def test_marian_models_with_several_targets_are_told_which(tmp_path):
    model = build_tiny_marian(tmp_path / "multi", seed=1, codes=(">>spa<<", ">>por<<"))
    engine = TransformersTranslator(model, num_beams=1, max_length=24)
    spanish = engine.translate(SENTENCES, "en", "es")
    portuguese = engine.translate(SENTENCES, "en", "pt")
    assert spanish != portuguese
    loaded = engine._load(model)
    assert engine._choose_languages(loaded.tokenizer, "en", "pt") == (">>por<< ", {})
    with pytest.raises(RstError, match=r"R600.*'de'.*por, spa"):
        engine.translate(["dog"], "en", "de")


def test_multilingual_models_are_told_both_languages(m2m100):
    engine = TransformersTranslator(m2m100, num_beams=1, max_length=24)
    pairs = [("es", "en"), ("es", "de"), ("ru", "en")]
    results = [engine.translate(SENTENCES, *pair) for pair in pairs]
    assert results[0] != results[1] and results[0] != results[2]
    assert not any("__" in text for texts in results for text in texts)
    with pytest.raises(RstError, match=r"R600.*'eu' to 'en'"):  # it does not know Basque
        engine.translate(SENTENCES, "eu", "en")
    tokenizer = engine._load(m2m100).tokenizer
    prefix, options = engine._choose_languages(tokenizer, "spa", "eng")
    assert (prefix, tokenizer.src_lang) == ("", "es")
    assert options == {"forced_bos_token_id": tokenizer.get_lang_id("en")}


def test_codes_of_nllb(tmp_path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(build_nllb_tokenizer(tmp_path / "nllb"))
    engine = TransformersTranslator("nllb", languages={"no": "nno_Latn"})
    wanted = {
        "es": "spa_Latn", "en": "eng_Latn", "eu": "eus_Latn", "fa": "pes_Arab", "zh": "zho_Hans",
        "ru": "rus_Cyrl", "pt_BR": "por_Latn", "no": "nno_Latn", "zho_Hant": "zho_Hant",
    }  # fmt: skip
    for code, name in wanted.items():
        _, options = engine._choose_languages(tokenizer, code, "en")
        assert tokenizer.src_lang == name
        assert options["forced_bos_token_id"] == tokenizer.convert_tokens_to_ids("eng_Latn")


def test_what_is_not_a_model_is_reported(tmp_path):
    for name in (str(tmp_path), str(tmp_path / "missing")):
        with pytest.raises(EngineUnavailable, match="R613"):
            engine_for(name).translate(["Hola"], "es", "en")


def test_it_can_be_sent_to_other_processes_and_made_from_a_config(marian):
    block = {"@rst_translators": "spacy_rst.TransformersTranslator.v1", "max_length": 24}
    engine = registry.resolve({"engine": {**block, "model": {"es-en": marian}}})["engine"]
    expected = engine.translate(["perro"], "es", "en")
    assert pickle.loads(pickle.dumps(engine)).translate(["perro"], "es", "en") == expected
