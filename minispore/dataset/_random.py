"""Where chance comes from: the order of an epoch is a pure function of seed, epoch and node."""

from dataclasses import dataclass, replace

import numpy as np

from minispore.common.seed import generator, get_dataset_seed, get_seed


@dataclass(frozen=True, slots=True)
class Epoch:
    """Which pass over a pipeline this is.

    The same value gives the same order, whatever was drawn before: so a run can be resumed in the
    middle without replaying it.

    Attributes:
        seed: What was set for the dataset or the program, a random number if nothing was.
        seeded: Whether it was set.
        number: How many passes came before.
        path: The way from the pipeline's end to a node, so that each node has its own stream.
    """

    seed: int
    seeded: bool
    number: int = 0
    path: tuple[int, ...] = ()

    def below(self, branch: int = 0) -> "Epoch":
        """Return the epoch as the node's child number `branch` sees it."""
        return replace(self, path=(*self.path, branch))

    def numbered(self, number: int) -> "Epoch":
        """Return another pass of the same pipeline."""
        return replace(self, number=number)

    def shared(self) -> "Epoch":
        """Return an epoch that is the same in every process, even where no seed was set."""
        return self if self.seeded else replace(self, seed=0)

    def generator(self) -> "np.random.Generator":
        """Return the random stream of this node in this pass, from its beginning."""
        return np.random.default_rng(
            np.random.SeedSequence([self.seed, self.number], spawn_key=self.path)
        )


def first_epoch() -> Epoch:
    """Return the first pass under the seed of `dataset.config`, or else of the program."""
    seed = get_dataset_seed()
    if seed is None:
        seed = get_seed()
    if seed is not None:
        return Epoch(seed, seeded=True)
    return Epoch(int(generator("dataset").integers(2**63)), seeded=False)
