"""Messages: each has a code, and is raised with exactly the values it needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

import spacy_rst
from spacy_rst.errors import Errors, RstError

PACKAGE = Path(spacy_rst.__file__).parent
CODES = sorted(name for name in vars(Errors) if not name.startswith("__"))


def fields(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name is not None}


def uses() -> Iterator[tuple[str, str, set[str] | None]]:
    """Find `Errors.R001` in the source, with the names given to `.format(...)` if it is called."""
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf8"))
        formatted: dict[ast.AST, set[str]] = {}
        for call in ast.walk(tree):
            if (
                isinstance(call, ast.Call)
                and isinstance(call.func, ast.Attribute)
                and call.func.attr == "format"
                and all(keyword.arg for keyword in call.keywords)
            ):
                formatted[call.func.value] = {keyword.arg or "" for keyword in call.keywords}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "Errors":
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                yield place, node.attr, formatted.get(node)


def is_well_formed(code: str) -> bool:
    message = getattr(Errors, code)
    is_sentence = re.fullmatch(rf"\[{code}\] \S.*([.?]|\{{error\}})", message) is not None
    named_well = all(name.isidentifier() for name in fields(message))
    return is_sentence and named_well and "  " not in message


def test_messages_are_whole_sentences_after_their_code():
    assert [code for code in CODES if not is_well_formed(code)] == []
    assert all(re.fullmatch(r"R\d{3}", code) for code in CODES)


def test_no_code_is_given_twice():
    source = (PACKAGE / "errors.py").read_text(encoding="utf8")
    defined = re.findall(r"^    (R\d{3}) = ", source, re.MULTILINE)
    assert sorted(defined) == CODES


def test_every_use_fits_its_message():
    wrong = []
    for place, code, given in uses():
        if code not in CODES:
            wrong.append(f"{place} uses {code}, which is not defined")
        elif (given or set()) != fields(getattr(Errors, code)):
            wrong.append(f"{place} gives {given} to {code}")
    assert wrong == []


def test_every_message_is_used():
    """If this fails, a code lost its last use: take it out of errors.py."""
    assert sorted(set(CODES) - {code for _, code, _ in uses()}) == []


def test_errors_are_value_errors_with_a_code():
    error = RstError(Errors.R026.format(number=3))
    assert isinstance(error, ValueError)
    assert error.code == "R026"
    assert str(error) == "[R026] EDU 3 is empty. Give every EDU some text."
    assert RstError("without a code").code == ""
    with pytest.raises(AttributeError):
        Errors.R999  # noqa: B018
