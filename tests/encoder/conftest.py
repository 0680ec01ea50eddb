from tests.tiny_models import tiny_xlmr

__all__ = ["tiny_xlmr"]
