"""A training loop of one's own: `value_and_grad`, an optimizer, and a loop over the data."""

import numpy as np

import minispore as ms
from minispore import Tensor, nn, ops
from minispore.dataset import NumpySlicesDataset

rng = np.random.default_rng(0)
points = rng.standard_normal((256, 2)).astype(np.float32)
labels = (points[:, 0] * points[:, 1] > 0).astype(np.int32)  # no line separates these
data = NumpySlicesDataset({"point": points, "label": labels}, shuffle=False).batch(32)


def weights(*shape: int) -> Tensor:
    """Return random initial weights."""
    return Tensor(rng.standard_normal(shape).astype(np.float32))


network = nn.SequentialCell(
    nn.Dense(2, 16, weight_init=weights(16, 2), bias_init="zeros"),
    nn.Tanh(),
    nn.Dense(16, 2, weight_init=0.1 * weights(2, 16), bias_init="zeros"),
)
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Adam(network.trainable_params(), learning_rate=0.02)


def forward(x: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss and the scores."""
    scores = network(x)
    return loss_fn(scores, label), scores


grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

network.set_train()
for epoch in range(1, 11):
    right = 0
    loss = Tensor(0.0)
    for x, label in data.create_tuple_iterator():
        (loss, scores), gradients = grad_fn(x, label)
        optimizer(gradients)
        right += int(ops.equal(scores.argmax(axis=1), label).asnumpy().sum())
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {loss.asnumpy():.4f}, accuracy {right / len(points):.1%}")
