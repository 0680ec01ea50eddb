from tests.tiny_models import tiny_pieces, tiny_xlmr

__all__ = ["tiny_pieces", "tiny_xlmr"]
