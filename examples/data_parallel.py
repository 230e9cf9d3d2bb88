"""Data-parallel training: several processes train one network, each on a part of the digits.

    pip install 'minispore[mpi]'
    mpiexec -n 2 python examples/data_parallel.py [FOLDER]

The first process writes the checkpoints to FOLDER (by default `data_parallel`).
"""

import sys
from pathlib import Path

import numpy as np

import minispore as ms
from minispore import communication, nn
from minispore.dataset import Dataset, NumpySlicesDataset, digits
from minispore.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint

# The batch size of all processes together. The training is the same for each number of processes
# that divides it.
BATCH = 64


def batches(count: int, usage: str) -> Dataset:
    """Return the batches of this process."""
    rank, size = communication.get_rank(), communication.get_group_size()
    images, labels = digits.generate(count, usage=usage)
    columns = {
        "image": images.reshape(count, -1).astype(np.float32) / 255,
        "label": labels.astype(np.int32),
    }
    data = NumpySlicesDataset(columns, shuffle=usage == "train", num_shards=size, shard_id=rank)
    return data.batch(BATCH // size)


def main(folder: Path) -> None:
    """Train for three epochs, and print the accuracy."""
    communication.init()
    ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    ms.set_seed(1)

    network = nn.SequentialCell(nn.Dense(28 * 28, 64), nn.ReLU(), nn.Dense(64, 10))
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.1, momentum=0.9)
    model = Model(network, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
    train, test = batches(2_000, "train"), batches(512, "test")
    steps = train.get_dataset_size()
    config = CheckpointConfig(save_checkpoint_steps=steps, append_info=["training_state"])
    model.fit(
        3, train, test, callbacks=[LossMonitor(steps), ModelCheckpoint("net", str(folder), config)]
    )

    # All processes evaluate together and get the same result; the first one prints it.
    accuracy = model.eval(test)["accuracy"]
    if communication.get_rank() == 0:
        print(f"{communication.get_group_size()} processes read {accuracy:.1%} of the digits")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "data_parallel"))
