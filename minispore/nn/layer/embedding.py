"""Where MindSpore keeps the embeddings."""

from minispore.nn.embedding import Embedding

__all__ = ["Embedding"]
