"""The programs that tests run in several processes: python mpi_worker.py FOLDER SCENARIO...

Each process writes its results to FOLDER/SCENARIO-RANK.json.
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
from minispore.communication import _collectives
from minispore.communication._mpi import is_cuda_aware
from minispore.communication._world import require_world
from minispore.dataset import NumpySlicesDataset
from minispore.engine.array import DeviceTarget, from_host, register_backend, to_host
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
from tests.distributed.small_training import (
    CLASSES,
    EPOCHS,
    FEATURES,
    Case,
    model,
    network,
    weights,
)
from tests.strict_device.strict_backend import STRICT_BACKEND, transfers

# Numbers of rows: a multiple of the number of processes, one more, one less, fewer than a batch.
CASES = [
    Case(16, 8),
    Case(17, 8),
    Case(23, 4),
    Case(3, 8),
    Case(37, 12, shuffle=False),
    Case(29, 4, drop=True),
    Case(15, 8, drop=True),
]
# In its last batch only the first of four processes has a row.
RESUMED = Case(17, 8)
METRICS = Case(21, 8)


class EventRecorder(Callback):
    """Record the events, each with its step."""

    def __init__(self, stop_at: int = 0, only: int = 0, finished: bool = False) -> None:
        self.events: list[tuple[str, int]] = []
        self._stop = (stop_at, only, finished)

    def on_train_step_end(self, run_context: RunContext) -> None:
        step, only, finished = self._stop
        self._note("step", run_context)
        if run_context.original_args().cur_step_num == step and communication.get_rank() == only:
            run_context.request_stop(finished=finished)

    def on_train_end(self, run_context: RunContext) -> None:
        self._note("end", run_context)

    def _note(self, event: str, run_context: RunContext) -> None:
        self.events.append((event, run_context.original_args().cur_step_num))


class Saver(ModelCheckpoint):
    """Save the training state every second step."""

    def __init__(self, folder: str) -> None:
        config = CheckpointConfig(
            save_checkpoint_steps=2, keep_checkpoint_max=99, append_info=["training_state"]
        )
        super().__init__("net", folder, config)


def train(case: Case, *callbacks: Callback, seed: int = 0, resume: str | None = None) -> Model:
    """Train as one of the processes."""
    rank, size = communication.get_rank(), communication.get_group_size()
    # The processes have different weights until they get those of the first.
    trained = model(seed)
    for parameter in trained.predict_network.trainable_params():
        parameter.set_data(parameter + float(rank))
    ms.set_seed(1)
    trained.train(EPOCHS, case.shard(rank, size), callbacks=list(callbacks), resume=resume)
    return trained


def train_cases() -> object:
    """Return the trained weights of each case."""
    return [weights(train(case)).tolist() for case in CASES]


def evaluate() -> object:
    """Return the metrics of an evaluation in shards."""
    rank, size = communication.get_rank(), communication.get_group_size()
    return model().eval(METRICS.shard(rank, size))


def request_stop() -> object:
    """The last process requests a stop, and then a final one."""
    last = communication.get_group_size() - 1
    recorders = EventRecorder(3, last), EventRecorder(4, last, finished=True)
    for each in recorders:
        train(CASES[2], each)
    return [each.events for each in recorders]


def chief_only_callbacks() -> object:
    """Train with callbacks that write files and print, by default in the chief only."""
    train(CASES[0], LossMonitor(), TimeMonitor(), Saver("chief"), SummaryCollector("summary"))
    monitor = LossMonitor()
    monitor.chief_only = False
    train(CASES[3], monitor)
    return None


def process_numbers() -> object:
    """Return what the run context and the context contain about the processes."""
    values: list[object] = []

    class ReadArguments(Callback):
        def on_train_begin(self, run_context: RunContext) -> None:
            args = run_context.original_args()
            values.extend([args.parallel_mode, args.device_number])

    train(CASES[3], ReadArguments())
    names = ("device_num", "global_rank")
    values += [ms.get_auto_parallel_context(name) for name in names]
    values += [communication.get_local_rank(), communication.get_local_rank_size()]
    return [*values, communication.get_process_group_ranks()]


def save() -> object:
    """Train and save the training state."""
    return weights(train(RESUMED, Saver("saves"))).tolist()


def resume() -> object:
    """Resume training states of another number of processes, within and after an epoch."""
    files = ("saves/net-1_2.ckpt", "saves/net-2_1.ckpt")
    return [
        weights(train(RESUMED, Saver("resumed"), seed=5, resume=file)).tolist() for file in files
    ]


def request_exit() -> object:
    """Only the last process receives a request to exit."""
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

    recorder = EventRecorder()
    train(CASES[2], Kill(2), OnRequestExit(directory="exits"), recorder)
    resumed = train(CASES[2], Kill(0), OnRequestExit(directory="exits"), EventRecorder(), seed=7)
    whole = train(CASES[2])
    return [recorder.events, np.array_equal(weights(resumed), weights(whole))]


def restore_backup() -> object:
    """Restart a training of which only the chief has a backup."""
    last = communication.get_group_size() - 1
    train(CASES[2], EventRecorder(4, last), BackupAndRestore("backup"))
    recorder = EventRecorder()
    restored = train(CASES[2], recorder, BackupAndRestore("backup"), seed=7)
    return [recorder.events[0], np.array_equal(weights(restored), weights(train(CASES[2])))]


def tensorpack_callbacks() -> object:
    """Run a tensorpack callback in the chief only, which is the default, and one everywhere."""
    from minispore import tensorpack

    called: list[str] = []

    class InChief(tensorpack.Callback):
        def _trigger_step(self) -> None:
            called.append("in chief")
            if self.global_step == 2:
                raise tensorpack.StopTraining("Step 2 is the last.")

    class InAll(tensorpack.Callback):
        chief_only = False

        def _trigger_step(self) -> None:
            called.append("in all")

    train(CASES[2], InChief(), InAll(), Saver("tensorpack"))
    train(CASES[2], InChief(), Saver("more"))
    train(CASES[2], InChief(), Saver("most"), resume="more/net-1_2.ckpt")
    return called


def unequal_batches() -> object:
    """Unequal numbers of batches raise an error in all processes, which then continue."""
    rows = 4 + 4 * communication.get_rank()
    data = {"x": np.zeros((rows, 5), np.float32), "y": np.zeros(rows, np.int32)}
    try:
        model().train(1, NumpySlicesDataset(data).batch(4))
    except ValueError as error:
        return str(error)
    return "no error was raised"


def different_settings() -> object:
    """Different settings in the last process raise an error in all processes, which continue."""
    last = communication.get_rank() == communication.get_group_size() - 1
    net = network()
    messages: list[str] = []
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
            messages.append(str(error))
    return messages


def diverge() -> object:
    """A callback of the chief only changes weights."""

    class HalveWeights(Callback):
        chief_only = True

        def on_train_epoch_end(self, run_context: RunContext) -> None:
            for each in run_context.original_args().network.trainable_params():
                each.set_data(each / 2)

    train(CASES[0], HalveWeights())
    return None


def custom_loop() -> object:
    """A custom training loop: reduced gradients, and a step of TrainOneStepCell."""
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


def train_on_device() -> object:
    """Train on the CPU, and on a device with and without CUDA-aware MPI."""
    is_set = communication.GlobalComm.CUDA_AWARE
    is_queried = is_cuda_aware(CDLL(require_world("train_on_device").mpi.__file__), {})
    register_backend("GPU", STRICT_BACKEND)
    return [
        is_set,
        is_queried,
        train_steps("CPU", is_set),
        train_steps("GPU", False),
        train_steps("GPU", True),
    ]


def train_on_gpu() -> object:
    """Train on a GPU with and without CUDA-aware MPI; nothing if MPI is not CUDA-aware."""
    cuda_aware = communication.GlobalComm.CUDA_AWARE
    return [train_steps("GPU", False), train_steps("GPU", True)] if cuda_aware else []


def train_steps(target: DeviceTarget, cuda_aware: bool) -> dict[str, object]:
    """Return the results, and the numbers of arrays copied to the device, the host and MPI."""
    rank = communication.get_rank()
    communication.GlobalComm.CUDA_AWARE = cuda_aware
    ms.set_context(device_target=target)
    net = network(seed=rank)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    transfers.clear()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer)
    counts = [(*transfers.counts(), transfers.to_mpi)]
    losses: list[ms.Tensor] = []
    rng = np.random.default_rng(rank)
    for i in range(4):
        # 0 and 3, 2 and 1, 0 and 3…
        rows = (3 * rank + 2 * i) % 4
        x = rng.standard_normal((rows, FEATURES)).astype(np.float32)
        batch = ms.Tensor(x), ms.Tensor(rng.integers(CLASSES, size=rows).astype(np.int32))
        transfers.clear()
        losses.append(step(*batch))
        counts.append((*transfers.counts(), transfers.to_mpi))
    # A loss that the user's code has computed on the host.
    loss, parameters = ms.Tensor(1.0 + rank).to("CPU"), net.trainable_params()
    reducer = nn.DistributedGradReducer(parameters, mean=True)
    loss, reduced = reducer.reduce_step(loss, parameters, rank)
    tensors = [loss, *reduced, *losses, *parameters]
    results = [each.asnumpy() for each in tensors]
    inputs: list[npt.NDArray[np.generic]] = [np.array(rank + 1.0), np.full(3, 0.5, np.float16)]
    inputs += [np.zeros((0, 2), np.int32), np.arange(4).reshape(2, 2).T + rank]
    arrays = _collectives.to_mpi_buffers([from_host(each) for each in inputs])
    flags = from_host(np.array([rank == 0, False]))
    results += map(
        to_host, [*_collectives.all_reduce_sum(arrays), *_collectives.broadcast([*arrays, flags])]
    )
    return {
        "bits": [[str(x.dtype), x.shape, x.tobytes().hex()] for x in results],
        "devices": [each.device for each in tensors],
        "counts": counts,
    }


def fail_in_callback() -> object:
    """A callback of the last process fails in the second step."""

    class FailInStep2(Callback):
        def on_train_step_end(self, run_context: RunContext) -> None:
            last = communication.get_group_size() - 1
            if run_context.original_args().cur_step_num == 2 and communication.get_rank() == last:
                raise ArithmeticError("division by zero")

    with suppress(ArithmeticError):  # a program that continues must not leave the others waiting
        train(CASES[0], FailInStep2())
    return "continued"


def fail_outside_training() -> object:
    """The last process fails outside of a training."""
    if communication.get_rank():
        raise ArithmeticError("division by zero")
    train(CASES[0])
    return None


def skip_collective() -> object:
    """The last process does not call the collective."""
    if communication.get_rank():
        import time

        time.sleep(600)
    train(CASES[0])
    return None


SCENARIOS: dict[str, Callable[[], object]] = {
    scenario.__name__: scenario
    for scenario in (
        train_cases,
        evaluate,
        request_stop,
        chief_only_callbacks,
        process_numbers,
        save,
        resume,
        request_exit,
        restore_backup,
        tensorpack_callbacks,
        unequal_batches,
        different_settings,
        diverge,
        custom_loop,
        train_on_device,
        train_on_gpu,
        fail_in_callback,
        fail_outside_training,
        skip_collective,
    )
}


def main(folder: Path, *scenarios: str) -> None:
    communication.init()
    for scenario in scenarios:
        ms.set_auto_parallel_context(
            parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True
        )
        print(f"[{scenario}]", flush=True)
        result = SCENARIOS[scenario]()
        file = folder / f"{scenario}-{communication.get_rank()}.json"
        file.write_text(json.dumps(result), "utf-8")
    communication.release()
    assert communication.get_group_size() == 1
    assert not communication.GlobalComm.CUDA_AWARE


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
