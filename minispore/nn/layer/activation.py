"""Where MindSpore keeps the activations."""

from minispore.nn.activation import LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, get_activation

__all__ = ["LogSoftmax", "ReLU", "Sigmoid", "Softmax", "Tanh", "get_activation"]
