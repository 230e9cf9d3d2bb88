"""LeNet-5 on digits: convolutions, pooling, a decaying learning rate, and checkpoints.

    python examples/lenet.py [FOLDER [MNIST [EPOCHS]]]

The checkpoints are written to FOLDER (by default `lenet`). MNIST is a folder with the four files of
MNIST; without it, a smaller set of digits is generated in FOLDER.
"""

import sys
from pathlib import Path

import minispore as ms
from minispore import nn
from minispore.common.initializer import Normal
from minispore.dataset import Dataset, MnistDataset, digits, transforms, vision
from minispore.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint, TimeMonitor


class LeNet5(nn.Cell):
    """Two convolutions, each followed by pooling, and three dense layers.

    Source: LeCun, Bottou, Bengio and Haffner, 1998; as in MindSpore's tutorial.
    """

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        # MNIST has 28 x 28 pixels, LeNet 32 x 32: add a border of 2 pixels.
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1 = nn.Dense(16 * 5 * 5, 120, weight_init=Normal(0.02))
        self.fc2 = nn.Dense(120, 84, weight_init=Normal(0.02))
        self.fc3 = nn.Dense(84, classes, weight_init=Normal(0.02))
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


def batches(folder: Path, usage: str) -> Dataset:
    """Return batches of 32 normalized images and int32 labels."""
    images = [vision.Rescale(1 / 255, 0), vision.Normalize((0.1307,), (0.3081,)), vision.HWC2CHW()]
    data = MnistDataset(str(folder), usage, shuffle=usage == "train")
    return data.map(images, "image").map(transforms.TypeCast(ms.int32), "label").batch(32)


def main(folder: Path, mnist: Path | None, epochs: int) -> None:
    """Train, save a checkpoint in each epoch, and print the accuracy."""
    ms.set_seed(1)
    if mnist is None:
        mnist = digits.write(folder / "data", train=6_000, test=1_000)
    train_data, test_data = batches(mnist, "train"), batches(mnist, "test")
    steps = train_data.get_dataset_size()

    network = LeNet5()
    # The learning rate decreases in each epoch.
    rates = nn.cosine_decay_lr(0.0, 0.02, epochs * steps, steps, epochs)
    model = Model(
        network,
        loss_fn=nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"),
        optimizer=nn.Momentum(network.trainable_params(), learning_rate=rates, momentum=0.9),
        metrics={"accuracy"},
    )
    config = CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=2)
    checkpoint = ModelCheckpoint("lenet", str(folder), config)
    model.fit(
        epochs, train_data, test_data, callbacks=[checkpoint, LossMonitor(steps), TimeMonitor()]
    )

    # A new network with the saved parameters has the same accuracy.
    other = LeNet5()
    ms.load_param_into_net(other, ms.load_checkpoint(checkpoint.latest_ckpt_file_name))
    metrics = Model(other, nn.CrossEntropyLoss(), metrics={"accuracy"}).eval(test_data)
    print(f"LeNet-5 reads {metrics['accuracy']:.2%} of the test images")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(
        Path(arguments[0] if arguments else "lenet"),
        Path(arguments[1]) if len(arguments) > 1 else None,
        int(arguments[2]) if len(arguments) > 2 else 3,
    )
