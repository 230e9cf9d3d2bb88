"""The strategy of a single process."""

import minispore as ms
from minispore import nn
from minispore.dataset import NumpySlicesDataset
from minispore.train._metric_collection import MetricCollection
from minispore.train.protocol import CallbackManager, InternalCallbackParam
from minispore.train.strategy import SingleProcess, current_strategy


def test_single_process_uses_its_arguments_unchanged() -> None:
    strategy = current_strategy()
    assert type(strategy) is SingleProcess
    net, data, metrics = nn.Cell(), NumpySlicesDataset([1]), {"m": ms.train.MAE()}
    assert strategy.make_eval_network(net) is net
    assert strategy.shard_dataset(data, "valid_dataset", "Model") is data
    collection = strategy.make_metrics(metrics, None, InternalCallbackParam())
    assert type(collection) is MetricCollection
    assert type(strategy.make_callback_manager(None)) is CallbackManager
