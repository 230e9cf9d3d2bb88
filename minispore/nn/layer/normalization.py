"""Where MindSpore keeps the normalizations."""

from minispore.nn.normalization import BatchNorm1d, BatchNorm2d, LayerNorm

__all__ = ["BatchNorm1d", "BatchNorm2d", "LayerNorm"]
