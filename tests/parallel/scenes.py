"""What several processes do together in these tests: python scenes.py FOLDER SCENE...

Each process writes what it has seen to FOLDER/SCENE-NUMBER.json.
"""

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore import communication, nn
from minispore._array import DeviceTarget, from_host, plug_in, to_host
from minispore.communication import _exchange
from minispore.communication._mpi import takes_cuda
from minispore.communication._world import the_world
from minispore.dataset import NumpySlicesDataset
from minispore.train import (
    BackupAndRestore,
    Callback,
    CheckpointConfig,
    LossMonitor,
    Model,
    ModelCheckpoint,
    OnRequestExit,
    RunContext,
    SummaryCollector,
    TimeMonitor,
)
from tests.guarded.library import GUARDED, traffic
from tests.parallel.learning import CLASSES, EPOCHS, FEATURES, Case, model, network, weights

# One more row than a multiple of the processes, one less, fewer than a batch, and what divides.
CASES = [
    Case(16, 8),
    Case(17, 8),
    Case(23, 4),
    Case(3, 8),
    Case(37, 12, shuffle=False),
    Case(29, 4, drop=True),
    Case(15, 8, drop=True),
]
# Of whose last batch only the first of four processes has a row.
RESUMED = Case(17, 8)
METRICS = Case(21, 8)


class Seen(Callback):
    """Which events there were, and in which step each."""

    def __init__(self, stop_at: int = 0, only: int = 0, for_good: bool = False) -> None:
        self.events: list[tuple[str, int]] = []
        self._stop = (stop_at, only, for_good)

    def on_train_step_end(self, run_context: RunContext) -> None:
        step, only, for_good = self._stop
        self._note("step", run_context)
        if run_context.original_args().cur_step_num == step and communication.get_rank() == only:
            run_context.request_stop(for_good=for_good)

    def on_train_end(self, run_context: RunContext) -> None:
        self._note("end", run_context)

    def _note(self, event: str, run_context: RunContext) -> None:
        self.events.append((event, run_context.original_args().cur_step_num))


class Saver(ModelCheckpoint):
    """Saves the training state every second step."""

    def __init__(self, folder: str) -> None:
        config = CheckpointConfig(
            save_checkpoint_steps=2, keep_checkpoint_max=99, append_info=["training_state"]
        )
        super().__init__("net", folder, config)


def train(case: Case, *callbacks: Callback, seed: int = 0, resume: str | None = None) -> Model:
    """Train as one of the processes."""
    rank, size = communication.get_rank(), communication.get_group_size()
    # Each process has other weights before it has those of the first.
    trained = model(seed)
    for parameter in trained.predict_network.trainable_params():
        parameter.set_data(parameter + float(rank))
    ms.set_seed(1)
    trained.train(EPOCHS, case.shard(rank, size), callbacks=list(callbacks), resume=resume)
    return trained


def laws() -> object:
    """The weights of each case."""
    return [weights(train(case)).tolist() for case in CASES]


def metrics() -> object:
    """What an evaluation in shards finds, and what it is told."""
    rank, size = communication.get_rank(), communication.get_group_size()
    return model().eval(METRICS.shard(rank, size))


def stops() -> object:
    """A stop that the last process asks for, and one for good."""
    last = communication.get_group_size() - 1
    seen = Seen(3, last), Seen(4, last, for_good=True)
    for each in seen:
        train(CASES[2], each)
    return [each.events for each in seen]


def chief() -> object:
    """Which files there are after a training in which the first process alone writes."""
    train(CASES[0], LossMonitor(), TimeMonitor(), Saver("chief"), SummaryCollector("summary"))
    everywhere = LossMonitor()
    everywhere.chief_only = False
    train(CASES[3], everywhere)
    return None


def params() -> object:
    """What callbacks are told of the processes."""
    told: list[object] = []

    class Reads(Callback):
        def on_train_begin(self, run_context: RunContext) -> None:
            args = run_context.original_args()
            told.extend([args.parallel_mode, args.device_number])

    train(CASES[3], Reads())
    names = ("device_num", "global_rank")
    told += [ms.get_auto_parallel_context(name) for name in names]
    told += [communication.get_local_rank(), communication.get_local_rank_size()]
    return [*told, communication.get_process_group_ranks()]


def saves() -> object:
    """A training that saves, for another number of processes to go on from."""
    return weights(train(RESUMED, Saver("saves"))).tolist()


def resumes() -> object:
    """Go on from what another number of processes has saved: inside an epoch, and after one."""
    files = ("saves/net-1_2.ckpt", "saves/net-2_1.ckpt")
    return [weights(train(RESUMED, Saver("again"), seed=5, resume=file)).tolist() for file in files]


def exits() -> object:
    """A request to exit that only the last process gets."""
    import os
    import signal

    class Kill(Callback):
        def __init__(self, step: int) -> None:
            self._step = step

        def on_train_step_begin(self, run_context: RunContext) -> None:
            last = communication.get_group_size() - 1
            step = run_context.original_args().cur_step_num
            if step == self._step and communication.get_rank() == last:
                os.kill(os.getpid(), signal.SIGTERM)

    seen = Seen()
    train(CASES[2], Kill(2), OnRequestExit(directory="exits"), seen)
    again = train(CASES[2], Kill(0), OnRequestExit(directory="exits"), Seen(), seed=7)
    whole = train(CASES[2])
    return [seen.events, np.array_equal(weights(again), weights(whole))]


def backs() -> object:
    """A training that is begun again: the first process alone knows of its backup."""
    last = communication.get_group_size() - 1
    train(CASES[2], Seen(4, last), BackupAndRestore("backup"))
    seen = Seen()
    again = train(CASES[2], seen, BackupAndRestore("backup"), seed=7)
    return [seen.events[0], np.array_equal(weights(again), weights(train(CASES[2])))]


def schools() -> object:
    """Callbacks of tensorpack's: one for the first process alone, as they are, and one for all."""
    from minispore import tensorpack

    called: list[str] = []

    class Alone(tensorpack.Callback):
        def _trigger_step(self) -> None:
            called.append("alone")
            if self.global_step == 2:
                raise tensorpack.StopTraining("It is enough.")

    class Everywhere(tensorpack.Callback):
        chief_only = False

        def _trigger_step(self) -> None:
            called.append("everywhere")

    train(CASES[2], Alone(), Everywhere(), Saver("schools"))
    train(CASES[2], Alone(), Saver("more"))
    train(CASES[2], Alone(), Saver("most"), resume="more/net-1_2.ckpt")
    return called


def unlike() -> object:
    """Data that do not end together: all processes are told so, and can go on."""
    rows = 4 + 4 * communication.get_rank()
    data = {"x": np.zeros((rows, 5), np.float32), "y": np.zeros(rows, np.int32)}
    try:
        model().train(1, NumpySlicesDataset(data).batch(4))
    except ValueError as error:
        return str(error)
    return "nothing was said"


def settings() -> object:
    """An epoch more, or a weight decay, in the last process: all raise the error and can go on."""
    last = communication.get_rank() == communication.get_group_size() - 1
    net = network()
    said: list[str] = []
    for work in (
        lambda: model().train(2 + last, CASES[0].shard(communication.get_rank(), 2)),
        lambda: nn.TrainOneStepCell(
            nn.WithLossCell(net, nn.CrossEntropyLoss()),
            nn.SGD(net.trainable_params(), weight_decay=0.1 * last),
        ),
    ):
        try:
            work()
        except ValueError as error:
            said.append(str(error))
    return said


def diverges() -> object:
    """A callback of the first process alone sets weights."""

    class Halves(Callback):
        chief_only = True

        def on_train_epoch_end(self, run_context: RunContext) -> None:
            for each in run_context.original_args().network.trainable_params():
                each.set_data(each / 2)

    train(CASES[0], Halves())
    return None


def loop() -> object:
    """A training loop of one's own: what the reducer gives, and a step of TrainOneStepCell."""
    rank = communication.get_rank()
    net = nn.Dense(2, 1, float(rank), float(rank))
    reduced = [
        nn.DistributedGradReducer(net.trainable_params(), mean, degree)(
            (ms.Tensor([[1.0, rank]]), ms.Tensor([10.0 * rank]).astype(ms.float16))
        )
        for mean, degree in ((True, None), (False, None), (None, None), (True, 4))
    ]
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params()))
    loss = step(ms.Tensor([[1.0, 1.0]]), ms.Tensor([[float(rank)]]))
    return [[[each.tolist() for each in pair] for pair in reduced], loss.item(), weights_of(net)]


def weights_of(net: nn.Cell) -> object:
    return [each.tolist() for each in net.trainable_params()]


def device() -> object:
    """Steps on the CPU, and on a device whose arrays go to MPI over the host, and as they are."""
    told = communication.GlobalComm.CUDA_AWARE
    asked = takes_cuda(CDLL(the_world("device").mpi.__file__), {})
    plug_in("GPU", GUARDED)
    return [told, asked, on("CPU", told), on("GPU", False), on("GPU", True)]


def card() -> object:
    """The same of a card: over the host, and as MPI takes it there; nothing if it does not."""
    told = communication.GlobalComm.CUDA_AWARE
    return [on("GPU", False), on("GPU", True)] if told else []


def on(target: DeviceTarget, cuda_aware: bool) -> dict[str, object]:
    """What is left, and how many arrays went to the device, to the host and to MPI each time."""
    rank = communication.get_rank()
    communication.GlobalComm.CUDA_AWARE = cuda_aware
    ms.set_context(device_target=target)
    net = network(seed=rank)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    traffic.clear()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    counts = [(*traffic.counts(), traffic.to_mpi)]
    losses: list[ms.Tensor] = []
    rng = np.random.default_rng(rank)
    for i in range(4):
        # 0 and 3, 2 and 1, 0 and 3…
        rows = (3 * rank + 2 * i) % 4
        x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
        batch = ms.Tensor(x), ms.Tensor(rng.integers(CLASSES, size=rows).astype(np.int32))
        traffic.clear()
        losses.append(step(*batch))
        counts.append((*traffic.counts(), traffic.to_mpi))
    # A loss that the user's code has made on the host.
    lost, given = ms.Tensor(1.0 + rank).to("CPU"), net.trainable_params()
    lost, reduced = nn.DistributedGradReducer(given, mean=True).of_step(lost, given, rank)
    left = [lost, *reduced, *losses, *given]
    found = [each.asnumpy() for each in left]
    ours: list[npt.NDArray[np.generic]] = [np.array(rank + 1.0), np.full(3, 0.5, np.float16)]
    ours += [np.zeros((0, 2), np.int32), np.arange(4).reshape(2, 2).T + rank]
    arrays = _exchange.at_hand([from_host(each) for each in ours])
    flags = from_host(np.array([rank == 0, False]))
    found += map(to_host, [*_exchange.sums(arrays), *_exchange.spread([*arrays, flags])])
    return {
        "bits": [[str(x.dtype), x.shape, x.tobytes().hex()] for x in found],
        "devices": [each.device for each in left],
        "counts": counts,
    }


def raises() -> object:
    """A callback of the last process fails in the second step."""

    class Fails(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            last = communication.get_group_size() - 1
            if run_context.original_args().cur_step_num == 2 and communication.get_rank() == last:
                raise ArithmeticError("the milk has boiled over")

    with suppress(ArithmeticError):  # a script that goes on must not leave the others waiting
        train(CASES[0], Fails())
    return "went on"


def uncaught() -> object:
    """The last process fails outside of a training."""
    if communication.get_rank():
        raise ArithmeticError("the milk has boiled over")
    train(CASES[0])
    return None


def sleeps() -> object:
    """The last process does not come."""
    if communication.get_rank():
        import time

        time.sleep(600)
    train(CASES[0])
    return None


SCENES: dict[str, Callable[[], object]] = {
    scene.__name__: scene
    for scene in (
        *(laws, metrics, stops, chief, params, saves, resumes, exits, backs, schools, unlike, loop),
        *(device, card, raises, uncaught, sleeps, settings, diverges),
    )
}


def main(folder: Path, *scenes: str) -> None:
    communication.init()
    for scene in scenes:
        ms.set_auto_parallel_context(
            parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True
        )
        print(f"[{scene}]", flush=True)
        seen = SCENES[scene]()
        file = folder / f"{scene}-{communication.get_rank()}.json"
        file.write_text(json.dumps(seen), "utf-8")
    communication.release()
    assert communication.get_group_size() == 1
    assert not communication.GlobalComm.CUDA_AWARE


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
