"""Discourse trees (Rhetorical Structure Theory) for spaCy, in many languages."""

from __future__ import annotations

from .about import __version__
from .display import render, serve
from .doc import doc_from_edus, register_extensions
from .errors import Errors, RstError
from .pipelines import load
from .translator.registry import register_registry
from .tree import Dependency, Relation, RstNode, RstTree, Score, Split

__all__ = [
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
    "load",
    "render",
    "serve",
]

register_extensions()
register_registry()
