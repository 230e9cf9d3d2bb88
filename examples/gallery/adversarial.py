"""A generative adversarial network on numbers: two networks with an optimizer each."""

import numpy as np

import minispore as ms
from minispore import Tensor, nn, ops

rng = np.random.default_rng(0)


def weights(*shape: int) -> Tensor:
    """Return random initial weights."""
    return Tensor((0.5 * rng.standard_normal(shape)).astype(np.float32))


def perceptron() -> nn.SequentialCell:
    """Return a network from a number to a number with one hidden layer."""
    return nn.SequentialCell(
        nn.Dense(1, 16, weight_init=weights(16, 1), bias_init=weights(16)),
        nn.Tanh(),
        nn.Dense(16, 1, weight_init=weights(1, 16), bias_init="zeros"),
    )


def numbers(mean: float, deviation: float) -> Tensor:
    """Return 64 normally distributed numbers."""
    return Tensor(rng.normal(mean, deviation, (64, 1)).astype(np.float32))


generator, discriminator = perceptron(), perceptron()
loss_fn = nn.BCEWithLogitsLoss()
optimizers = [nn.Adam(network.trainable_params(), 0.01) for network in (generator, discriminator)]


def generator_loss(noise: Tensor) -> Tensor:
    """Return how well the discriminator recognizes what the generator makes."""
    score = discriminator(generator(noise))
    return loss_fn(score, ops.ones_like(score))


def discriminator_loss(noise: Tensor, real: Tensor) -> Tensor:
    """Return the discriminator's loss for real and generated numbers."""
    scores, generated = discriminator(real), discriminator(ops.stop_gradient(generator(noise)))
    return loss_fn(scores, ops.ones_like(scores)) + loss_fn(generated, ops.zeros_like(generated))


generator_step = ms.value_and_grad(generator_loss, None, optimizers[0].parameters)
discriminator_step = ms.value_and_grad(discriminator_loss, None, optimizers[1].parameters)

for step in range(1, 151):
    noise, real = numbers(0, 1), numbers(2, 0.5)
    wrong, gradients = discriminator_step(noise, real)
    optimizers[1](gradients)
    recognized, gradients = generator_step(noise)
    optimizers[0](gradients)
    if step % 50 == 0:
        made = generator(numbers(0, 1)).asnumpy()
        print(f"step {step}: losses {recognized.asnumpy():.3f} and {wrong.asnumpy():.3f}")
        print(f"the generated numbers have the mean {made.mean():.3f}, the real ones 2")
