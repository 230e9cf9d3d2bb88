"""The tutorial's network in plain numpy, optimized for speed.

All results are written to preallocated buffers, and the parameters are updated in place.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class HandWritten:
    """A 784-512-512-10 network with ReLU, softmax cross-entropy and SGD."""

    def __init__(self, batch: int, widths: tuple[int, ...], lr: float, seed: int = 0) -> None:
        """Create the parameters, and a buffer for each result of a step."""
        rng = np.random.default_rng(seed)
        self.lr = np.float32(lr)
        self.weights = [
            (rng.standard_normal((n, m)) / np.sqrt(m)).astype(np.float32)
            for m, n in pairwise(widths)
        ]
        self.biases = [np.zeros(n, np.float32) for n in widths[1:]]
        self.weight_grads = [np.empty_like(w) for w in self.weights]
        self.bias_grads = [np.empty_like(b) for b in self.biases]
        self.values = [np.empty((batch, n), np.float32) for n in widths[1:]]
        self.grads = [np.empty((batch, n), np.float32) for n in widths[1:]]
        self.masks = [np.empty((batch, n), np.bool_) for n in widths[1:-1]]
        self.rows = np.arange(batch)

    def step(self, x: Floats, labels: NDArray[np.int32]) -> float:
        """Train one step of SGD on a batch, and return the mean loss before it."""
        last = len(self.weights) - 1
        layer = x
        for i, (weight, bias, value) in enumerate(
            zip(self.weights, self.biases, self.values, strict=True)
        ):
            np.matmul(layer, weight.T, out=value)
            np.add(value, bias, out=value)
            if i < last:
                np.maximum(value, 0, out=value)
            layer = value
        grad = self.grads[last]
        np.subtract(layer, layer.max(axis=1, keepdims=True), out=grad)
        picked = grad[self.rows, labels]
        np.exp(grad, out=grad)
        total = grad.sum(axis=1, keepdims=True)
        loss = float((np.log(total[:, 0]) - picked).mean())
        grad /= total
        grad[self.rows, labels] -= 1
        grad /= len(x)
        for i in range(last, -1, -1):
            below = self.values[i - 1] if i else x
            np.matmul(grad.T, below, out=self.weight_grads[i])
            np.sum(grad, axis=0, out=self.bias_grads[i])
            if i:
                np.matmul(grad, self.weights[i], out=self.grads[i - 1])
                np.greater(below, 0, out=self.masks[i - 1])
                self.grads[i - 1] *= self.masks[i - 1]
                grad = self.grads[i - 1]
        for value, gradient in zip(
            (*self.weights, *self.biases), (*self.weight_grads, *self.bias_grads), strict=True
        ):
            np.multiply(gradient, self.lr, out=gradient)
            np.subtract(value, gradient, out=value)
        return loss
