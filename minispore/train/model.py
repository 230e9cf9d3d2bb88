"""`Model`: train, evaluate and call a network, given its loss, optimizer and metrics."""

import os
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextvars import ContextVar
from types import FunctionType, NoneType
from typing import TYPE_CHECKING, Any, ClassVar

from minispore._metrics.metric import Metric, MetricName
from minispore.common.context import is_graph_mode, steps_of
from minispore.common.parallel import get_auto_parallel_context
from minispore.communication._group import get_group_size, is_data_parallel
from minispore.engine.array.capture_hooks import CapturedSteps
from minispore.nn import Cell, Optimizer, TrainOneStepCell, WithEvalCell, WithLossCell
from minispore.nn.cell import evaluation_mode
from minispore.nn.wrap.cell_wrapper import LossFunction
from minispore.ops.tensors import Tensor
from minispore.train import loop, protocol
from minispore.train._metric_collection import get_metrics
from minispore.train.protocol.callback import (
    CallbackManager,
    Callbacks,
    InternalCallbackParam,
    RunContext,
    reject_legacy_hooks,
)
from minispore.train.protocol.dataset import BatchIterable, DatasetLike, check_dataset
from minispore.train.strategy import SingleProcess
from minispore.utils.checks import (
    caller,
    check_int,
    check_one_of,
    check_type,
    is_int_list,
    type_error,
    value_error,
)
from minispore.utils.tables import Table
from minispore.utils.unsupported import hint_keywords, missing_attribute
from minispore.utils.warn import warn_at_caller

TrainingData = DatasetLike | BatchIterable

# Options for boosting, with the values that have no effect here.
_SUPPORTED_OPTIONS: Mapping[str, tuple[object, ...]] = {
    "boost_level": ("O0",),
    "acc_level": ("O0",),
    "keep_batchnorm_fp32": (None, True, False),
    "boost_config_dict": (None, ""),
}


# Whether a training is in progress: an evaluation in it restores the modes of the cells.
_in_training: ContextVar[bool] = ContextVar("in_training", default=False)


class Model:
    """A network with its loss, optimizer and metrics: trains, evaluates and calls it.

    Args:
        network: The network. Without `loss_fn` its output is the loss; without `optimizer` as
            well, the network does the training step itself, as a `TrainOneStepCell` does.
        loss_fn: The loss function of the network's output and the label, a cell or any function.
            With it, a batch is (input, label).
        optimizer: The optimizer of the network's parameters.
        metrics: What `eval` measures: a set of names, ``{"accuracy", "loss"}``, or a dict of
            metrics and their names, ``{"acc": "accuracy", "f1": F1()}``.
        eval_network: The cell that `eval` calls; by default a `WithEvalCell` of `network` and
            `loss_fn`.
        eval_indexes: The positions of loss, prediction and label among the outputs of
            `eval_network`. Without it each metric receives all outputs.
        amp_level: The level of mixed precision, "O0" for none; see `auto_mixed_precision`.
        boost_level: "O0": boosting is not supported.
        **kwargs: `loss_scale_manager`, which scales the loss; see `build_train_network`. Further
            options of MindSpore, with the values that have no effect.

    Raises:
        ValueError: An option is not supported, there are metrics without a network to evaluate, or
            `eval_indexes` has not three items.

    Examples:
        >>> import numpy as np
        >>> from minispore import dataset as ds, nn
        >>> data = {"x": np.eye(4, dtype=np.float32), "y": np.arange(4, dtype=np.int32)}
        >>> data = ds.NumpySlicesDataset(data, shuffle=False).batch(2)
        >>> net = nn.Dense(4, 4, weight_init="zeros", bias_init="zeros")
        >>> optimizer = nn.SGD(net.trainable_params(), learning_rate=1.0)
        >>> model = Model(net, nn.CrossEntropyLoss(), optimizer, metrics={"accuracy"})
        >>> model.train(2, data)
        >>> model.eval(data)
        {'accuracy': 1.0}

    Source: MindSpore's `mindspore.train.Model`.
    """

    _name_in_errors: ClassVar[str] = "{kind}.{method}"

    @hint_keywords
    def __init__(
        self,
        network: Cell,
        loss_fn: LossFunction | None = None,
        optimizer: Optimizer | None = None,
        metrics: AbstractSet[MetricName | str] | Mapping[str, Metric | str] | None = None,
        eval_network: Cell | None = None,
        eval_indexes: list[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: object,
    ) -> None:
        check_type(network, Cell, "network")
        check_type(optimizer, (Optimizer, NoneType), "optimizer")
        check_type(eval_network, (Cell, NoneType), "eval_network")
        if not callable(loss_fn) or isinstance(loss_fn, type):
            check_type(loss_fn, (Cell, FunctionType, NoneType), "loss_fn")
        check_type(amp_level, str, "amp_level")
        check_type(boost_level, str, "boost_level")
        check_one_of(boost_level, ("O0", "O1", "O2"), "boost_level")
        _check_options({"boost_level": boost_level, **kwargs})
        self._loss_scale_manager = kwargs.get("loss_scale_manager")
        self._train_network = _training_step(network, loss_fn, optimizer, amp_level, kwargs)
        self._network = network
        # The steps of `predict` in graph mode.
        self._captured_steps: CapturedSteps | None = None
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._metrics = get_metrics(metrics)
        _check_indexes(eval_indexes)
        self._eval_indexes = eval_indexes
        self._eval_network = eval_network
        if self._metrics and eval_network is None:
            if loss_fn is None:
                raise ValueError(
                    "For 'Model', the argument 'metrics' needs something to evaluate: "
                    "set 'loss_fn' or 'eval_network' too."
                )
            self._eval_network = WithEvalCell(network, loss_fn)
            self._eval_indexes = [0, 1, 2]

    if not TYPE_CHECKING:  # type checkers take it for a definition of every attribute
        __getattr__ = missing_attribute

    def __repr__(self) -> str:
        parts = (f"{name}={value}" for name, value in self._table().rows)
        return f"<Model: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return self._table()._repr_html_() + self._network._repr_html_()

    def _table(self) -> Table:
        loss = getattr(self._loss_fn, "__name__", type(self._loss_fn).__name__)
        rows = [
            ("network", type(self._network).__name__),
            ("loss_fn", None if self._loss_fn is None else loss),
            ("optimizer", None if self._optimizer is None else type(self._optimizer).__name__),
            ("metrics", list(self._metrics)),
        ]
        return Table("Model", ["argument", "value"], rows)

    @property
    def train_network(self) -> Cell:
        """The cell that does a training step and returns the loss."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """The cell whose outputs the metrics receive; None without metrics."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The cell that `predict` calls, which is the network."""
        return self._network

    @hint_keywords
    def train(
        self,
        epoch: int,
        train_dataset: TrainingData,
        callbacks: Callbacks | None = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume: str | os.PathLike[str] | None = None,
        resume_strict: bool = True,
    ) -> None:
        """Train the network.

        Args:
            epoch: The number of the last epoch.
            train_dataset: The training data, a data set or a sized iterable of batches; each batch
                is a step.
            callbacks: The callbacks, called in this order at each event.
            dataset_sink_mode: Has no effect without a `sink_size`, as in MindSpore on a CPU.
            sink_size: With `dataset_sink_mode`, the value of `batch_num` in the callbacks'
                parameters, and so the number of steps after which `LossMonitor` and the names of
                checkpoints begin to count again; -1 for the number of batches.
            initial_epoch: The number of epochs done before; training starts with the next one.
            resume: A checkpoint with a training state, saved by the same training with the same
                callbacks, or a folder, for the one of the latest step in it. Training continues
                from it exactly as if it had not been interrupted.
            resume_strict: Whether it is an error that settings of the training have changed since
                the checkpoint was saved; if False, it is a warning.

        Raises:
            TypeError: An argument is of another type.
            ValueError: `epoch` is not above `initial_epoch`, or one of them is negative; the
                dataset is empty or does not yield what the network takes; the model has a loss
                function but no optimizer; or `resume` is not a checkpoint of this training.
        """
        strategy, manager = self._prepare_call(callbacks, locals())
        sink_size = sink_size if dataset_sink_mode else -1
        context = self._train_context(
            strategy, epoch, train_dataset, initial_epoch, manager, resume, resume_strict, sink_size
        )
        self._run_training(context, manager)

    @hint_keywords
    def fit(
        self,
        epoch: int,
        train_dataset: TrainingData,
        valid_dataset: TrainingData | None = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Callbacks | None = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume: str | os.PathLike[str] | None = None,
        resume_strict: bool = True,
    ) -> None:
        """Train the network, and evaluate it after epochs.

        The evaluation of an epoch runs before its `on_train_epoch_end`, where `metrics` holds the
        results. Training and evaluation have one `RunContext`: a stop requested in an evaluation
        ends the run, and if batches are left, that evaluation has no results.

        Args:
            epoch: The number of the last epoch.
            train_dataset: The training data.
            valid_dataset: The evaluation data; None for no evaluation.
            valid_frequency: The number of epochs from one evaluation to the next, or a list of the
                epochs to evaluate after.
            callbacks: The callbacks, called in this order at each event. Those with hooks of
                MindSpore 1.x are an error.
            dataset_sink_mode: As for `train`.
            valid_dataset_sink_mode: Has no effect.
            sink_size: As for `train`.
            initial_epoch: The number of epochs done before; training starts with the next one.
            resume: A checkpoint with a training state, saved by the same training with the same
                callbacks, or a folder, for the one of the latest step in it. Training continues
                from it exactly as if it had not been interrupted.
            resume_strict: Whether it is an error that settings of the training have changed since
                the checkpoint was saved; if False, it is a warning.

        Raises:
            TypeError: An argument is of another type.
            ValueError: As for `train`; also, there is a `valid_dataset` but no metric,
                `valid_frequency` is not positive, or a callback has hooks of MindSpore 1.x.
        """
        strategy, manager = self._prepare_call(callbacks, locals())
        if not is_int_list(valid_frequency):
            check_type(valid_frequency, (int, list), "valid_frequency")
            check_int(valid_frequency, "valid_frequency", low=1)
        reject_legacy_hooks(manager.callbacks)
        sink_size = sink_size if dataset_sink_mode else -1
        context = self._train_context(
            strategy, epoch, train_dataset, initial_epoch, manager, resume, resume_strict, sink_size
        )
        params = context.original_args()
        if valid_dataset is not None:
            self._check_metrics()
            valid_dataset = strategy.shard_dataset(valid_dataset, "valid_dataset")
            if any(_is_due(valid_frequency, done) for done in range(initial_epoch + 1, epoch + 1)):
                loss = [] if self._eval_indexes is None else ["eval_loss"]
                params.metric_names = [*self._metrics, *loss]

        def validate() -> None:
            if valid_dataset is None or not _is_due(valid_frequency, params.cur_epoch_num):
                return
            training = {key: params[key] for key in ("batch_num", "cur_step_num", "net_outputs")}
            try:
                self._evaluate(strategy, valid_dataset, context, manager)
            finally:
                params.update(training, mode="train")

        self._run_training(context, manager, validate)

    def _run_training(
        self,
        context: RunContext,
        manager: CallbackManager,
        validate: Callable[[], None] | None = None,
    ) -> None:
        token = _in_training.set(True)
        try:
            manager.run(context, lambda: loop.train(context, manager, validate))
        finally:
            _in_training.reset(token)
        if is_graph_mode() and isinstance(self.train_network, TrainOneStepCell):
            from minispore.graph.cache import graph_info

            info = graph_info(self.train_network)
            if info.reasons and not info.replayed:
                warn_at_caller(
                    "In GRAPH_MODE no step was replayed; all ran eagerly, since "
                    f"{next(iter(info.reasons))}. 'graph_info' of the model's 'train_network' "
                    "lists all reasons."
                )

    @hint_keywords
    def eval(
        self,
        valid_dataset: TrainingData,
        callbacks: Callbacks | None = None,
        dataset_sink_mode: bool = False,
    ) -> dict[str, Any]:
        """Evaluate the network.

        Args:
            valid_dataset: The evaluation data.
            callbacks: The callbacks, called in this order at each event.
            dataset_sink_mode: Has no effect, as in MindSpore on a CPU.

        Returns:
            What the `eval` of each metric returns, by its name: for nearly all of them a number.
            An empty dict if a stop has interrupted the evaluation.

        Raises:
            TypeError: An argument is of another type.
            ValueError: The model has no metric, or the dataset is empty.
        """
        strategy, manager = self._prepare_call(callbacks, locals())
        self._check_metrics()
        valid_dataset = strategy.shard_dataset(valid_dataset, "valid_dataset")
        context = RunContext(
            InternalCallbackParam(
                network=self._network,
                list_callback=manager.callbacks,
                dataset_sink_mode=False,
            )
        )
        return manager.run(
            context, lambda: self._evaluate(strategy, valid_dataset, context, manager)
        )

    @hint_keywords
    def predict(
        self, *predict_data: object, backend: str | None = None, config: object = None
    ) -> Tensor:
        """Return the network's output, of whatever type; for type checkers a Tensor.

        Args:
            *predict_data: The inputs of the network. Each array of any library becomes a Tensor.
            backend: None: MindSpore Lite is not supported.
            config: None: MindSpore Lite is not supported.

        Raises:
            TypeError: An input is neither a Tensor, array, number, str nor a tuple, list or dict of
                them.
            ValueError: `backend` or `config` is not None.
        """
        if backend is not None or config is not None:
            raise ValueError(
                f"For '{caller()}', 'backend' and 'config' must be None: MindSpore Lite is not "
                f"supported, but got backend {backend!r} and config {config!r}."
            )
        types = (Tensor, int, float, bool, str, tuple, list, dict, NoneType)
        inputs = [
            Tensor(x) if hasattr(x, "__array__") and not isinstance(x, Tensor | float) else x
            for x in predict_data
        ]
        for item in inputs:
            check_type(item, types, "predict_data")
        with evaluation_mode(self._network, stays=not _in_training.get()):
            if not is_graph_mode():
                return self._network(*inputs)
            return steps_of(self).run(self._network, tuple(inputs))

    def build(
        self,
        train_dataset: TrainingData | None = None,
        valid_dataset: TrainingData | None = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Check the arguments of a later training; there is no graph to compile.

        Args:
            train_dataset: The training data.
            valid_dataset: The evaluation data.
            sink_size: Has no effect.
            epoch: The number of the last epoch.
            sink_mode: Has no effect.

        Raises:
            TypeError: An argument is of another type.
            ValueError: An argument is out of range, or a dataset is empty.
        """
        _check_sink(locals())
        _check_epochs(epoch, 0)
        for name, dataset in (("train_dataset", train_dataset), ("valid_dataset", valid_dataset)):
            if dataset is not None:
                check_dataset(dataset, name)

    def _prepare_call(
        self, callbacks: Callbacks | None, arguments: Mapping[str, object]
    ) -> tuple[SingleProcess, CallbackManager]:
        """Check the arguments of a method, which are the same in all processes.

        Returns:
            The strategy, and the manager of the callbacks.
        """
        for name in ("epoch", "callbacks"):
            if getattr(value := arguments.get(name), "ndim", 0):
                makes = protocol.iterable_dataset.MAKE_BATCHES
                raise type_error(value, name, f"be no array ({makes})")
        strategy = current_strategy()
        manager = strategy.make_callback_manager(callbacks)
        strategy.check_call(manager.callbacks, self._metrics, arguments)
        _check_sink(arguments)
        return strategy, manager

    def _train_context(
        self,
        strategy: SingleProcess,
        epoch: int,
        train_dataset: TrainingData,
        initial_epoch: int,
        manager: CallbackManager,
        resume: str | os.PathLike[str] | None,
        resume_strict: bool,
        sink_size: int,
    ) -> RunContext:
        _check_epochs(epoch, initial_epoch)
        # A shard may yield a batch without rows, which only `TrainOneStepCell` can process.
        sharded = isinstance(self._train_network, TrainOneStepCell)
        shard = strategy.shard_dataset if sharded else check_dataset
        train_dataset = shard(train_dataset, "train_dataset")
        if self._loss_fn is not None and self._optimizer is None:
            raise ValueError(
                f"For '{caller()}', the model has a 'loss_fn' but no 'optimizer': "
                "nothing would be trained."
            )
        check_type(resume, (str, os.PathLike, NoneType), "resume")
        check_type(resume_strict, bool, "resume_strict")
        context = RunContext(
            InternalCallbackParam(
                mode="train",
                dataset_sink_mode=False,
                epoch_num=epoch - initial_epoch,
                initial_epoch=initial_epoch,
                batch_num=sink_size if sink_size > 0 else train_dataset.get_dataset_size(),
                cur_step_num=0,
                network=self._network,
                train_network=self._train_network,
                loss_fn=self._loss_fn,
                optimizer=self._optimizer,
                train_dataset=train_dataset,
                train_dataset_element=None,
                metric_names=[],
                initial_step=None,
                last_save_ckpt_step=None,
                latest_ckpt_file=None,
                loss_scale_mananger=self._loss_scale_manager,
                list_callback=manager.callbacks,
                parallel_mode=get_auto_parallel_context("parallel_mode"),
                device_number=get_group_size(),
            )
        )
        context.resume_strict = resume_strict
        if resume is not None:
            context.request_resume(resume)
        return context

    def _evaluate(
        self,
        strategy: SingleProcess,
        dataset: DatasetLike,
        context: RunContext,
        manager: CallbackManager,
    ) -> dict[str, Any]:
        network = self._eval_network
        assert network is not None
        params = context.original_args()
        params.update(
            mode="eval",
            batch_num=dataset.get_dataset_size(),
            cur_step_num=0,
            eval_network=strategy.make_eval_network(network),
            valid_dataset=dataset,
        )
        metrics = strategy.make_metrics(self._metrics, self._eval_indexes)
        with evaluation_mode(network, stays=not _in_training.get()):
            return loop.evaluate(context, manager, metrics)

    def _check_metrics(self) -> None:
        if not self._metrics:
            raise ValueError(
                f"For '{caller()}', the model argument 'metrics' can not be None or empty: "
                "there would be nothing to evaluate."
            )


def current_strategy() -> SingleProcess:
    """Return the strategy for the program's `parallel_mode`."""
    if not is_data_parallel():
        return SingleProcess()
    from minispore.train.data_parallel import DataParallel

    return DataParallel()


def _training_step(
    network: Cell,
    loss_fn: LossFunction | None,
    optimizer: Optimizer | None,
    amp_level: str,
    options: Mapping[str, object],
) -> Cell:
    """Return the cell that does a training step, or computes the loss if there is no optimizer."""
    manager = options.get("loss_scale_manager")
    with_loss = network if loss_fn is None else WithLossCell(network, loss_fn)
    if amp_level == "O0" and manager is None and (optimizer is None or optimizer.loss_scale == 1):
        return with_loss if optimizer is None else TrainOneStepCell(with_loss, optimizer)
    from minispore.train import amp

    check_one_of(amp_level, amp.LEVELS, "amp_level")
    if optimizer is None:
        amp.auto_mixed_precision(network, amp_level)
        return with_loss
    known = {"loss_scale_manager": manager} if "loss_scale_manager" in options else {}
    return amp.build_train_network(network, optimizer, loss_fn, amp_level, "O0", **known)


def _check_options(options: Mapping[str, object]) -> None:
    """Raise ValueError unless each option is known and its value has no effect."""
    for name, value in options.items():
        if name not in (*_SUPPORTED_OPTIONS, "loss_scale_manager"):
            raise ValueError(
                "For 'Model', the argument in 'kwargs' should be 'loss_scale_manager', "
                "'keep_batchnorm_fp32', 'boost_config_dict' or 'acc_level', "
                f"but got '{name}'."
            )
        if value not in _SUPPORTED_OPTIONS.get(name, (value,)):
            raise ValueError(
                f"For 'Model', the argument '{name}' = {value!r} is not supported: use "
                f"{_SUPPORTED_OPTIONS[name][0]!r}."
            )


def _check_indexes(eval_indexes: object) -> None:
    if eval_indexes is not None and not (is_int_list(eval_indexes) and len(eval_indexes) == 3):
        raise value_error(eval_indexes, "eval_indexes", "be None or a list of three int")


def _check_sink(arguments: Mapping[str, object]) -> None:
    """Check the arguments about sinking data to a device, which have no effect on a CPU."""
    for name in ("dataset_sink_mode", "valid_dataset_sink_mode", "sink_mode"):
        if name in arguments:
            check_type(arguments[name], bool, name)
    sink_size = check_int(arguments.get("sink_size", -1), "sink_size")
    if sink_size < 1 and sink_size != -1:
        raise value_error(sink_size, "sink_size", "be -1 or positive")


def _check_epochs(epoch: object, initial_epoch: object) -> None:
    """Raise an error unless both are int and 0 <= `initial_epoch` < `epoch`."""
    last = check_int(epoch, "epoch", low=1)
    first = check_int(initial_epoch, "initial_epoch", low=0)
    if first >= last:
        raise ValueError(
            f"For '{caller()}', the argument 'epoch' must be greater than 'initial_epoch', "
            f"but got epoch {last} and initial_epoch {first}."
        )


def _is_due(valid_frequency: int | list[int], epoch: int) -> bool:
    """Return whether `fit` evaluates after `epoch`."""
    if isinstance(valid_frequency, list):
        return epoch in valid_frequency
    return epoch % valid_frequency == 0
