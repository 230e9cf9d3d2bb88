"""A script in MindSpore's older style runs with the package renamed, and prints the same."""

import contextlib
import io
import os
import subprocess
from pathlib import Path

import pytest

# In the style of the older model zoo: with operation objects, its own loss and training step, and
# MindSpore's import paths.
SCRIPT = """
import numpy as np

import mindspore.dataset as ds
import mindspore.dataset.transforms as C
import mindspore.nn as nn
from mindspore import Tensor, context
from mindspore import dtype as mstype
from mindspore import log as logger
from mindspore.common import set_seed
from mindspore.common.api import jit
from mindspore.common.initializer import Constant
from mindspore.common.parameter import ParameterTuple
from mindspore.nn.layer.activation import get_activation
from mindspore.nn.loss.loss import LossBase
from mindspore.nn.optim.momentum import Momentum
from mindspore.nn.wrap.cell_wrapper import WithLossCell
from mindspore.nn.wrap.grad_reducer import DistributedGradReducer
from mindspore.ops import composite as CP
from mindspore.ops import functional as F
from mindspore.ops import operations as P
from mindspore.train.callback import Callback, CheckpointConfig, LossMonitor, ModelCheckpoint
from mindspore.train.model import Model
from mindspore.train.serialization import load_checkpoint, load_param_into_net

set_seed(1)
context.set_context(mode=context.PYNATIVE_MODE, device_target="CPU")


class CrossEntropySmooth(LossBase):
    def __init__(self, smooth_factor=0.0, num_classes=3):
        super(CrossEntropySmooth, self).__init__()
        self.onehot = P.OneHot()
        self.on_value = Tensor(1.0 - smooth_factor, mstype.float32)
        self.off_value = Tensor(1.0 * smooth_factor / (num_classes - 1), mstype.float32)
        self.ce = nn.SoftmaxCrossEntropyWithLogits(reduction="mean")

    def construct(self, logit, label):
        label = self.onehot(label, F.shape(logit)[1], self.on_value, self.off_value)
        return self.ce(logit, label)


class Net(nn.Cell):
    def __init__(self):
        super(Net, self).__init__()
        weight = Tensor(np.sin(np.arange(20)).reshape(5, 4), mstype.float32)
        self.hidden = nn.Dense(4, 5, weight_init=weight, bias_init="ones")
        self.out = nn.Dense(5, 3, weight_init=Constant(0.1), bias_init="zeros")
        self.relu = P.ReLU()
        self.act = get_activation("tanh")
        self.reshape = P.Reshape()
        self.mean = P.ReduceMean(keep_dims=True)
        self.sub = P.Sub()
        self.cast = P.Cast()

    def construct(self, x):
        x = self.reshape(self.cast(x, mstype.float32), (F.shape(x)[0], -1))
        x = self.act(self.relu(self.hidden(x)))
        return self.out(self.sub(x, self.mean(x, 1)))


class TrainOneStep(nn.Cell):
    def __init__(self, network, optimizer, sens=1.0):
        super(TrainOneStep, self).__init__(auto_prefix=False)
        self.network = network
        self.weights = ParameterTuple(network.trainable_params())
        self.optimizer = optimizer
        self.grad = CP.GradOperation(get_by_list=True, sens_param=True)
        self.sens = sens
        self.fill = P.Fill()

    def construct(self, data, label):
        loss = self.network(data, label)
        sens = self.fill(loss.dtype, F.shape(loss), self.sens)
        grads = self.grad(self.network, self.weights)(data, label, sens)
        self.optimizer(grads)
        return loss


class Print(Callback):
    def step_end(self, run_context):
        cb_params = run_context.original_args()
        logger.info("step %d", cb_params.cur_step_num)
        print("step", cb_params.cur_step_num, "%.4f" % float(cb_params.net_outputs.asnumpy()))


@jit
def norms(x):
    return F.norm(x, dim=1)


rng = np.random.default_rng(0)
data = ds.NumpySlicesDataset(
    {"x": rng.normal(size=(12, 2, 2)), "y": rng.integers(0, 3, 12)}, shuffle=False
)
data = data.map(operations=C.TypeCast(mstype.int32), input_columns="y").batch(4)
net = Net()
loss = CrossEntropySmooth(smooth_factor=0.1)
step = TrainOneStep(WithLossCell(net, loss), Momentum(net.trainable_params(), 0.1, 0.9))
config = CheckpointConfig(save_checkpoint_steps=3)
Model(step).train(
    2, data, callbacks=[Print(), ModelCheckpoint("net", "saved", config)], dataset_sink_mode=False
)
again = Net()
print(load_param_into_net(again, load_checkpoint("saved/net-2_3.ckpt"))[0])
x = Tensor(rng.normal(size=(2, 2, 2)), mstype.float32)
print(np.abs(net(x).asnumpy() - again(x).asnumpy()).max())
print(np.round(norms(again(x)).asnumpy(), 3))
print(P.Argmax()(again(x)), P.Concat(1)((x, P.Square()(x))).shape)
"""
PYTHON = os.environ.get("MINISPORE_MINDSPORE_PYTHON", "")
PRINTED = """\
step 1 1.0986
step 2 1.1046
step 3 1.0874
step 4 1.0665
step 5 1.0930
step 6 1.0318
[]
0.0
[0.315 0.163]
[0 0] (2, 4, 2)
"""


@pytest.fixture
def _in_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_in_its_folder")
def test_mindspore_script_runs_with_package_renamed() -> None:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(SCRIPT.replace("mindspore", "minispore"), "<script>", "exec"), {})
    assert out.getvalue() == PRINTED


@pytest.mark.usefixtures("_in_its_folder")
@pytest.mark.skipif(not PYTHON, reason="no MINISPORE_MINDSPORE_PYTHON")
def test_mindspore_prints_the_same(tmp_path: Path) -> None:
    # MindSpore's compiler reads the source of functions.
    file = tmp_path / "script.py"
    file.write_text(SCRIPT, "utf-8")
    run = subprocess.run(
        [PYTHON, str(file)],
        capture_output=True, encoding="utf-8", check=True, env={**os.environ, "GLOG_v": "4"},
    )  # fmt: skip
    assert run.stdout == PRINTED
