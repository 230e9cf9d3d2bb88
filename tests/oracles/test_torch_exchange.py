"""Tensors and PyTorch's become each other, with shared memory where both libraries allow it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minispore import Tensor, grad, nn
from minispore.train import History, Model
from tests.common.strategies import Arrays, arrays
from tests.oracles.torch_layers import torch


@given(arrays(), st.booleans())
def test_torch_shares_memory_with_a_tensor(array: Arrays, reverse: bool) -> None:
    x = Tensor(array)
    x = x[::-1] if reverse and x.ndim else x
    for convert in (torch.as_tensor, torch.from_dlpack):
        theirs = convert(x)
        assert theirs.numpy().dtype == array.dtype
        np.testing.assert_array_equal(theirs.numpy(), x.asnumpy())
        if array.size and not reverse:
            assert np.shares_memory(theirs.numpy(), x.asnumpy())


@given(arrays())
def test_tensor_takes_torch_tensors(array: Arrays) -> None:
    theirs = torch.from_numpy(array.copy())
    for x, shares in ((Tensor(theirs), False), (Tensor.from_dlpack(theirs), True)):
        assert x.asnumpy().dtype == array.dtype
        np.testing.assert_array_equal(x.asnumpy(), array)
        assert np.shares_memory(x.asnumpy(), theirs.numpy()) == (shares and bool(array.size))


def test_tensors_that_require_gradients_are_not_converted() -> None:
    weight = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        Tensor(weight)
    with pytest.raises(BufferError, match="detach"):
        Tensor.from_dlpack(weight)
    with pytest.raises(TypeError, match="stop_gradient"):
        grad(lambda x: Tensor(torch.as_tensor(x)).sum())(Tensor([1.0]))


def test_model_takes_a_data_loader() -> None:
    x, y = torch.arange(12.0).reshape(6, 2), torch.tensor([0, 1, 0, 1, 0, 1])
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=4)
    net = nn.Dense(2, 2)
    model = Model(
        net,
        nn.CrossEntropyLoss(),
        nn.SGD(net.trainable_params(), 0.01),
        metrics={"accuracy"},
    )
    history = History()
    model.fit(2, loader, loader, callbacks=history)
    assert len(history.history["accuracy"]) == 2
    assert 0.0 <= model.eval(loader)["accuracy"] <= 1.0
