"""Where MindSpore keeps the basic layers."""

from minispore.nn.basic import Dense, Dropout, Flatten, Identity

__all__ = ["Dense", "Dropout", "Flatten", "Identity"]
