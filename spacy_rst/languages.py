"""Languages: codes of ISO 639-1 (es) and ISO 639-3 (spa), with a region (pt_BR), and blank
pipelines."""

from __future__ import annotations

import re
from functools import lru_cache

import spacy
from spacy.language import Language

from .errors import Errors, RstError

MULTI_LANGUAGE = "xx"

_PAIRS = """
af afr  am amh  an arg  ar ara  as asm  az aze  be bel  bg bul  bn ben  bo bod  br bre  bs bos
ca cat  cs ces  cy cym  da dan  de deu  el ell  en eng  eo epo  es spa  et est  eu eus  fa fas
fi fin  fo fao  fr fra  ga gle  gd gla  gl glg  gu guj  ha hau  he heb  hi hin  hr hrv  ht hat
hu hun  hy hye  id ind  ig ibo  is isl  it ita  ja jpn  jv jav  ka kat  kk kaz  km khm  kn kan
ko kor  ku kur  ky kir  la lat  lb ltz  lg lug  ln lin  lo lao  lt lit  lv lav  mg mlg  mi mri
mk mkd  ml mal  mn mon  mr mar  ms msa  mt mlt  my mya  nb nob  ne nep  nl nld  nn nno  no nor
oc oci  or ori  pa pan  pl pol  ps pus  pt por  ro ron  ru rus  sa san  sc srd  sd snd  sh hbs
si sin  sk slk  sl slv  so som  sq sqi  sr srp  su sun  sv swe  sw swa  ta tam  te tel  tg tgk
th tha  ti tir  tk tuk  tl tgl  tn tsn  tr tur  tt tat  ug uig  uk ukr  ur urd  uz uzb  vi vie
wo wol  xh xho  yi yid  yo yor  zh zho  zu zul
"""
TO_ALPHA_3 = dict(zip(_PAIRS.split()[::2], _PAIRS.split()[1::2], strict=True))
TO_ALPHA_2 = {long: short for short, long in TO_ALPHA_3.items()}
SEPARATOR = re.compile("[-_]")


def normal_code(code: str) -> str:
    """Normalize a language's code: "es" for "spa", "pt_BR" for "pt-br"."""
    language, *region = SEPARATOR.split(code.strip(), maxsplit=1)
    language = language.lower()
    return "_".join([TO_ALPHA_2.get(language, language), *(part.upper() for part in region)])


def base_code(code: str) -> str:
    """Normalize a language's code and drop its region: "pt" for "pt_BR"."""
    return normal_code(code).split("_")[0]


@lru_cache(maxsize=32)
def blank_pipeline(lang: str = MULTI_LANGUAGE) -> Language:
    """Get spaCy's blank pipeline for a language; it may have none, or need another package."""
    try:
        return spacy.blank(lang)
    except ImportError as error:
        raise RstError(Errors.R135.format(lang=lang, error=error)) from error


@lru_cache(maxsize=1)
def multilingual_pipeline() -> Language:
    """Get a blank pipeline for many languages, with our tokenizer."""
    tokenizer = {"@tokenizers": "spacy_rst.Tokenizer.v1"}
    return spacy.blank(MULTI_LANGUAGE, config={"nlp": {"tokenizer": tokenizer}})
