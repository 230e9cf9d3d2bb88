"""The programs that tests run in several processes: python mpi_worker.py FOLDER SCENARIO...

Each process writes its results to FOLDER/SCENARIO-RANK.json.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from ctypes import CDLL
from pathlib import Path

import numpy as np
import numpy.typing as npt

import minispore as ms
from minispore import communication, nn, tensorpack
from minispore.communication import _collectives
from minispore.communication._mpi import is_cuda_aware
from minispore.communication._world import require_world
from minispore.engine.array import DeviceTarget, from_host, register_backend, to_host
from minispore.train import (
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

    def __init__(self) -> None:
        self.events: list[tuple[str, int]] = []

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.events.append(("step", run_context.original_args().cur_step_num))

    def on_train_end(self, run_context: RunContext) -> None:
        self.events.append(("end", run_context.original_args().cur_step_num))


class Saver(ModelCheckpoint):
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
    return [weights(train(case)).tolist() for case in CASES]


def evaluate() -> object:
    rank, size = communication.get_rank(), communication.get_group_size()
    return model().eval(METRICS.shard(rank, size))


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
    return weights(train(RESUMED, Saver("saves"))).tolist()


def resume() -> object:
    """Resume training states of another number of processes, within and after an epoch."""
    files = ("saves/net-1_2.ckpt", "saves/net-2_1.ckpt")
    return [
        weights(train(RESUMED, Saver("resumed"), seed=5, resume=file)).tolist() for file in files
    ]


def request_exit() -> object:
    """Only the last process receives a request to exit."""

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


def tensorpack_callbacks() -> object:
    """Run a tensorpack callback in the chief only, which is the default, and one everywhere."""
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


def train_on_device() -> object:
    """Train on the CPU, and on a device with and without CUDA-aware MPI."""
    is_set = communication.GlobalComm.CUDA_AWARE
    is_queried = is_cuda_aware(CDLL(require_world().mpi.__file__), {})
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
    results = [tensor.asnumpy() for tensor in tensors]
    inputs: list[npt.NDArray[np.generic]] = [np.array(rank + 1.0), np.full(3, 0.5, np.float16)]
    inputs += [np.zeros((0, 2), np.int32), np.arange(4).reshape(2, 2).T + rank]
    arrays = _collectives.to_mpi_buffers([from_host(array) for array in inputs])
    flags = from_host(np.array([rank == 0, False]))
    results += map(
        to_host, [*_collectives.all_reduce_sum(arrays), *_collectives.broadcast([*arrays, flags])]
    )
    return {
        "bits": [[str(x.dtype), x.shape, x.tobytes().hex()] for x in results],
        "devices": [tensor.device for tensor in tensors],
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


class Leave(Callback):
    """Leave the program in the last process, in the second step."""

    def on_train_step_end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num == 2 and communication.get_rank():
            sys.exit(3)


def leave() -> object:
    """The last process leaves the program in one of several ways, while the others train on."""
    way = os.environ["LEAVE"]
    if communication.get_rank():
        if way == "sys.exit in a callback":
            train(CASES[0], Leave())
        if way in {"end", "sys.exit"}:
            sys.exit(0 if way == "end" else "no data")
        if way == "release":
            communication.release()
        if way == "os._exit":
            os._exit(0)
        raise KeyboardInterrupt if way == "interrupt" else ArithmeticError(way)
    train(CASES[0])
    return None


def leave_together() -> object:
    """Both processes leave, one of them seconds later."""
    status = int(os.environ["LEAVE"])
    if communication.get_rank():
        os._exit(status)
    time.sleep(8)
    print("worked", flush=True)
    sys.exit(status)


def skip_collective() -> object:
    """The last process does not call the collective."""
    if communication.get_rank():
        time.sleep(600)
    train(CASES[0])
    return None


SCENARIOS: dict[str, Callable[[], object]] = {
    scenario.__name__: scenario
    for scenario in (
        train_cases,
        evaluate,
        chief_only_callbacks,
        process_numbers,
        save,
        resume,
        request_exit,
        tensorpack_callbacks,
        train_on_device,
        train_on_gpu,
        fail_in_callback,
        leave,
        leave_together,
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
