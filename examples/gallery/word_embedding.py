"""Learn vectors of words: predict the words before and after each word of a small text."""

import numpy as np

from minispore import Tensor, nn
from minispore.dataset import NumpySlicesDataset
from minispore.train import LossMonitor, Model

TEXT = """
the cat eats fish . the dog eats meat . a cat drinks milk . a dog drinks water .
the cat sees a dog . the dog sees a cat . a man eats meat . a man drinks water .
"""
words = TEXT.split()
vocabulary = sorted(set(words))
codes = [vocabulary.index(word) for word in words]
pairs = [
    (code, codes[i + step])
    for i, code in enumerate(codes)
    for step in (-1, 1)
    if 0 <= i + step < len(codes)
]
word, neighbour = np.array(pairs, np.int32).T
columns = {"word": word, "neighbour": neighbour}
data = NumpySlicesDataset(columns, shuffle=False).batch(len(pairs))

rng = np.random.default_rng(0)
size, length = len(vocabulary), 6


def weights(*shape: int) -> Tensor:
    """Return random initial weights."""
    return Tensor(rng.standard_normal(shape).astype(np.float32))


embedding = nn.Embedding(size, length, embedding_table=weights(size, length))
output = nn.Dense(length, size, weight_init=weights(size, length), bias_init="zeros")
network = nn.SequentialCell(embedding, output)
optimizer = nn.Adam(network.trainable_params(), learning_rate=0.05)
Model(network, nn.CrossEntropyLoss(), optimizer).train(120, data, callbacks=[LossMonitor(40)])

vectors = embedding.embedding_table.asnumpy()
vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
for name in ("cat", "water"):
    similarities = vectors @ vectors[vocabulary.index(name)]
    _, nearest = np.argsort(similarities)[-1:-3:-1]
    print(f"{name}: nearest is {vocabulary[nearest]}, cosine {similarities[nearest]:.3f}")
