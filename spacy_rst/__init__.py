"""Discourse trees (Rhetorical Structure Theory) for spaCy, in many languages."""

from __future__ import annotations

from .about import __version__
from .display import render, serve
from .doc import doc_from_edus, register_extensions
from .doc_layout import get_layout, read_html, read_markdown, set_layout, source_range
from .errors import Errors, RstError
from .layout import Block
from .pipelines import load
from .translator.registry import register_registry
from .tree import Dependency, Relation, RstNode, RstTree, Score, Split

__all__ = [
    "Block",
    "Dependency",
    "Errors",
    "Relation",
    "RstError",
    "RstNode",
    "RstTree",
    "Score",
    "Split",
    "__version__",
    "doc_from_edus",
    "get_layout",
    "load",
    "read_html",
    "read_markdown",
    "render",
    "serve",
    "set_layout",
    "source_range",
]

register_extensions()
register_registry()
