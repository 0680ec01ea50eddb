"""spaCy's registry of translation engines: `@rst_translators` in a config.

Other packages add engines through entry points named `spacy_rst_translators`.
"""

from __future__ import annotations

import catalogue  # type: ignore[import-untyped]
from spacy.util import registry

REGISTRY_NAME = "rst_translators"
translators = catalogue.create("spacy", REGISTRY_NAME, entry_points=True)


def register_registry() -> None:
    """Make the registry known to spaCy, once."""
    if not hasattr(registry, REGISTRY_NAME):
        setattr(registry, REGISTRY_NAME, translators)
