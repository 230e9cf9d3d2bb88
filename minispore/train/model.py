"""Model: a network, its loss, its optimizer and its metrics, and the four things done with them."""

import os
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import cast

from minispore._checks import check_type
from minispore.common import Tensor
from minispore.common.parallel import get_auto_parallel_context
from minispore.communication import get_group_size
from minispore.nn import Cell, Optimizer, TrainOneStepCell, WithEvalCell, WithLossCell
from minispore.train import _loop
from minispore.train._alike import check_call
from minispore.train._arguments import (
    check_epochs,
    check_frequency,
    check_indexes,
    check_options,
    check_predict_data,
    check_sink,
    is_due,
)
from minispore.train._dataset import DatasetLike, check_dataset
from minispore.train._parts import data_of, evaluator_of, scores_of
from minispore.train._protocol.callback import Callback
from minispore.train._protocol.manager import CallbackManager, refuse_older_names
from minispore.train._protocol.run_context import InternalCallbackParam, RunContext
from minispore.train._ranks import manager_of
from minispore.train._scores import get_metrics
from minispore.train.metrics import Metric

Callbacks = Callback | Iterable[Callback]


class Model:
    """A network with everything that its training and evaluation need.

    Source: mindspore.train.Model.

    Args:
        network: the network. Without `loss_fn` its output is taken for the loss; without
            `optimizer` too it must do its own training step, as a `TrainOneStepCell` does.
        loss_fn: takes the network's output and the label. With it a batch is (input, label).
        optimizer: updates the network's parameters.
        metrics: what `eval` measures: a set of names, ``{"accuracy", "loss"}``, or a dict,
            ``{"acc": Accuracy()}``.
        eval_network: what `eval` calls; by default `network` and `loss_fn` in a `WithEvalCell`.
        eval_indexes: the places of loss, prediction and label among the outputs of `eval_network`.
            Without it each metric is given all outputs.
        amp_level: "O0"; there is no mixed precision.
        boost_level: "O0"; there is no boosting.
        **kwargs: MindSpore's further options, in their harmless values.

    Raises:
        TypeError: for an argument of another type.
        ValueError: for an option that is not covered, metrics without anything to evaluate, or
            `eval_indexes` that are not three.

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
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Cell | None = None,
        optimizer: Optimizer | None = None,
        metrics: AbstractSet[str] | Mapping[str, Metric] | None = None,
        eval_network: Cell | None = None,
        eval_indexes: list[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: object,
    ) -> None:
        check_type(network, Cell, "network", "Model")
        check_type(loss_fn, Cell, "loss_fn", "Model", none=True)
        check_type(optimizer, Optimizer, "optimizer", "Model", none=True)
        check_type(eval_network, Cell, "eval_network", "Model", none=True)
        check_options(amp_level, boost_level, kwargs)
        self._network = network
        self._loss_fn = loss_fn
        self._optimizer = optimizer
        self._metrics = get_metrics(metrics)
        self._eval_indexes = check_indexes(eval_indexes)
        self._train_network = self._build_train_network()
        self._eval_network = eval_network
        if self._metrics and eval_network is None:
            self._build_eval_network()

    @property
    def train_network(self) -> Cell:
        """The network that does a training step and returns the loss."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """The network whose outputs the metrics are given; None without metrics."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The network that `predict` calls: the network itself."""
        return self._network

    def train(
        self,
        epoch: int,
        train_dataset: DatasetLike,
        callbacks: Callbacks | None = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume: str | os.PathLike[str] | None = None,
        resume_strict: bool = True,
    ) -> None:
        """Train the network.

        Args:
            epoch: the last epoch.
            train_dataset: the data; each batch is a step.
            callbacks: called at each event, in their order.
            dataset_sink_mode: accepted and without effect, as in MindSpore on a CPU.
            sink_size: accepted and without effect.
            initial_epoch: epochs done before; training goes from the next one to `epoch`.
            resume: a checkpoint with a training state, of the same training with the same
                callbacks: it goes on from there exactly as if it had not been interrupted.
            resume_strict: raise an error if what decides the training has changed since the
                checkpoint was saved; False for a warning.

        Raises:
            TypeError: for an argument of another type.
            ValueError: if `epoch` is not above `initial_epoch`, either is negative, or the dataset
                is empty or does not yield what the network takes; if the model has a loss
                function but no optimizer; if `resume` is no checkpoint of this training.
        """
        arguments = locals()
        owner = "Model.train"
        manager = manager_of(callbacks)
        check_call(owner, manager.callbacks, self._metrics, arguments)
        check_sink(owner, sink_size, dataset_sink_mode=dataset_sink_mode)
        context = self._train_context(
            owner, epoch, train_dataset, initial_epoch, manager, resume, resume_strict
        )
        manager.run(context, lambda: _loop.train(context, manager))

    def fit(
        self,
        epoch: int,
        train_dataset: DatasetLike,
        valid_dataset: DatasetLike | None = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Callbacks | None = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
        resume: str | os.PathLike[str] | None = None,
        resume_strict: bool = True,
    ) -> None:
        """Train the network and evaluate it in between.

        An epoch's evaluation comes before its `on_train_epoch_end`, which finds the results in
        `metrics`. Both share one `RunContext`: a stop requested in an evaluation ends the run, and
        if batches are left, this evaluation has no results.

        Args:
            epoch: the last epoch.
            train_dataset: the data to train on.
            valid_dataset: the data to evaluate; None for no evaluation.
            valid_frequency: epochs from one evaluation to the next, or a list of the epochs
                that are evaluated.
            callbacks: called at each event, in their order; the older names are refused.
            dataset_sink_mode: accepted and without effect, as in MindSpore on a CPU.
            valid_dataset_sink_mode: accepted and without effect.
            sink_size: accepted and without effect.
            initial_epoch: epochs done before; training goes from the next one to `epoch`.
            resume: a checkpoint with a training state, of the same training with the same
                callbacks: it goes on from there exactly as if it had not been interrupted.
            resume_strict: raise an error if what decides the training has changed since the
                checkpoint was saved; False for a warning.

        Raises:
            TypeError: as `train`.
            ValueError: as `train`; also if there is a `valid_dataset` but no metric, if
                `valid_frequency` is not positive, or if a callback has hooks under older names.
        """
        arguments = locals()
        owner = "Model.fit"
        manager = manager_of(callbacks)
        check_call(owner, manager.callbacks, self._metrics, arguments)
        check_sink(
            owner,
            sink_size,
            dataset_sink_mode=dataset_sink_mode,
            valid_dataset_sink_mode=valid_dataset_sink_mode,
        )
        check_frequency(valid_frequency)
        refuse_older_names(manager.callbacks)
        context = self._train_context(
            owner, epoch, train_dataset, initial_epoch, manager, resume, resume_strict
        )
        params = context.original_args()
        if valid_dataset is not None:
            self._check_metrics(owner)
            valid_dataset = data_of(valid_dataset, "valid_dataset", owner)
            params.metric_names = list(self._metrics)
            if self._eval_indexes is not None:
                params.metric_names.append("eval_loss")

        def validate() -> None:
            if valid_dataset is None or not is_due(valid_frequency, params.cur_epoch_num):
                return
            training = {key: params[key] for key in ("batch_num", "cur_step_num", "net_outputs")}
            try:
                self._evaluate(valid_dataset, context, manager)
            finally:
                params.update(training, mode="train")

        manager.run(context, lambda: _loop.train(context, manager, validate))

    def eval(
        self,
        valid_dataset: DatasetLike,
        callbacks: Callbacks | None = None,
        dataset_sink_mode: bool = False,
    ) -> dict[str, float]:
        """Evaluate the network.

        Args:
            valid_dataset: the data.
            callbacks: called at each event, in their order.
            dataset_sink_mode: accepted and without effect, as in MindSpore on a CPU.

        Returns:
            The result of each metric by its name: a number for all metrics whose `eval` gives one.
            Nothing if a stop has interrupted the evaluation.

        Raises:
            TypeError: for an argument of another type.
            ValueError: if the model has no metric, or the dataset is empty.
        """
        arguments = locals()
        owner = "Model.eval"
        manager = manager_of(callbacks)
        check_call(owner, manager.callbacks, self._metrics, arguments)
        check_sink(owner, dataset_sink_mode=dataset_sink_mode)
        self._check_metrics(owner)
        valid_dataset = data_of(valid_dataset, "valid_dataset", owner)
        context = RunContext(
            InternalCallbackParam(
                network=self._network,
                list_callback=manager.callbacks,
                dataset_sink_mode=False,
            )
        )
        return manager.run(context, lambda: self._evaluate(valid_dataset, context, manager))

    def predict(
        self, *predict_data: Tensor, backend: str | None = None, config: object = None
    ) -> Tensor:
        """Return the network's output, whatever the network returns; to type checkers a Tensor.

        Args:
            *predict_data: the network's inputs.
            backend: None; MindSpore Lite is not covered.
            config: None; it is for MindSpore Lite.

        Raises:
            TypeError: if an input is neither Tensor, number, str nor a tuple, list or dict of them.
            ValueError: for another `backend` or `config`.
        """
        check_predict_data(predict_data, backend, config)
        self._network.set_train(mode=False)
        return self._network(*predict_data)

    def build(
        self,
        train_dataset: DatasetLike | None = None,
        valid_dataset: DatasetLike | None = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Check the arguments of a training to come; there is no graph to compile ahead.

        Args:
            train_dataset: what will be trained on.
            valid_dataset: what will be evaluated.
            sink_size: without effect.
            epoch: the last epoch.
            sink_mode: without effect.

        Raises:
            TypeError: for an argument of another type.
            ValueError: for an argument out of range, or an empty dataset.
        """
        owner = "Model.build"
        check_sink(owner, sink_size, sink_mode=sink_mode)
        check_epochs(epoch, 0, owner)
        for name, dataset in (("train_dataset", train_dataset), ("valid_dataset", valid_dataset)):
            if dataset is not None:
                check_dataset(dataset, name, owner)

    def _build_train_network(self) -> Cell:
        network = self._network
        if self._loss_fn is not None:
            network = WithLossCell(network, self._loss_fn)
        if self._optimizer is not None:
            network = TrainOneStepCell(network, self._optimizer)
        return network

    def _build_eval_network(self) -> None:
        if self._loss_fn is None:
            raise ValueError(
                "For 'Model', the argument 'metrics' needs something to evaluate: "
                "set 'loss_fn' or 'eval_network' too."
            )
        self._eval_network = WithEvalCell(self._network, self._loss_fn)
        self._eval_indexes = [0, 1, 2]

    def _train_context(
        self,
        owner: str,
        epoch: int,
        train_dataset: DatasetLike,
        initial_epoch: int,
        manager: CallbackManager,
        resume: str | os.PathLike[str] | None,
        resume_strict: bool,
    ) -> RunContext:
        check_epochs(epoch, initial_epoch, owner)
        # Another network's own step would not know what to do with a batch without rows.
        take = data_of if isinstance(self._train_network, TrainOneStepCell) else check_dataset
        train_dataset = take(train_dataset, "train_dataset", owner)
        if self._loss_fn is not None and self._optimizer is None:
            raise ValueError(
                f"For '{owner}', the model has a 'loss_fn' but no 'optimizer': "
                "nothing would be trained."
            )
        check_type(resume, (str, os.PathLike), "resume", owner, none=True)
        check_type(resume_strict, bool, "resume_strict", owner)
        context = RunContext(
            InternalCallbackParam(
                mode="train",
                dataset_sink_mode=False,
                epoch_num=epoch - initial_epoch,
                initial_epoch=initial_epoch,
                batch_num=train_dataset.get_dataset_size(),
                cur_step_num=0,
                network=self._network,
                train_network=self._train_network,
                loss_fn=self._loss_fn,
                optimizer=self._optimizer,
                train_dataset=train_dataset,
                train_dataset_element=None,
                metric_names=[],
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
        self, dataset: DatasetLike, context: RunContext, manager: CallbackManager
    ) -> dict[str, float]:
        network = cast("Cell", self._eval_network)
        network.set_train(mode=False)
        context.original_args().update(
            mode="eval",
            batch_num=dataset.get_dataset_size(),
            cur_step_num=0,
            eval_network=evaluator_of(network),
            valid_dataset=dataset,
        )
        scores = scores_of(self._metrics, self._eval_indexes, context.original_args())
        return _loop.evaluate(context, manager, scores)

    def _check_metrics(self, owner: str) -> None:
        if not self._metrics:
            raise ValueError(
                f"For '{owner}', the model argument 'metrics' can not be None or empty: "
                "there would be nothing to evaluate."
            )
