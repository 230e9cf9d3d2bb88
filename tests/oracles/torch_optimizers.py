"""Random optimizers and learning-rate schedules, each with PyTorch's equivalent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from minispore import Parameter, Tensor, int32, nn
from tests.oracles.torch_layers import Theirs, torch

STEPS = 25
Rates = list[float]


@dataclass(frozen=True)
class Settings:
    """Arguments of an optimizer of either library.

    Attributes:
        groups: For each parameter its learning rate in each step, and its weight decay.
        scale: The loss scale.
        options: Arguments that only this class has.
    """

    groups: tuple[tuple[Rates, float], ...]
    scale: float
    options: Mapping[str, Any]

    def ours(
        self, kind: Callable[..., nn.Optimizer], parameters: Sequence[Parameter]
    ) -> nn.Optimizer:
        """Return an optimizer, with rates as numbers and without groups where possible."""
        rates = [rates if len(set(rates)) > 1 else rates[0] for rates, _ in self.groups]
        decays = [decay for _, decay in self.groups]
        options = {**self.options, "loss_scale": self.scale}
        if all(group == self.groups[0] for group in self.groups):
            return kind(list(parameters), learning_rate=rates[0], weight_decay=decays[0], **options)
        groups: list[dict[str, object]] = [
            {"params": [p], "lr": rate, "weight_decay": decay}
            for p, rate, decay in zip(parameters, rates, decays, strict=True)
        ]
        return kind(groups, learning_rate=0.5, **options)


@st.composite
def settings(
    draw: st.DrawFn, parameters: int, options: Mapping[str, st.SearchStrategy[Any]]
) -> Settings:
    decays = st.sampled_from([0.0, 0.1, 0.5])
    rates = st.floats(0.01, 0.5).flatmap(
        lambda rate: st.sampled_from([[rate] * STEPS, [rate / (i + 1) for i in range(STEPS)]])
    )
    group = st.tuples(rates, decays)
    same = draw(st.booleans())
    first = draw(group)
    groups = (first, *(first if same else draw(group) for _ in range(parameters - 1)))
    drawn = draw(st.fixed_dictionaries(dict(options)))
    return Settings(groups, draw(st.sampled_from([1.0, 8.0])), drawn)


def nothing(optimizer: Theirs, settings: Settings, step: int) -> None:
    """Do nothing before a step."""


@dataclass(frozen=True)
class Kind:
    """An optimizer class of both libraries.

    Attributes:
        ours: The class of minispore.
        theirs: Makes PyTorch's optimizer from the settings and the parameters.
        options: Strategies for arguments that only this class has.
        before_step: Adjusts PyTorch's optimizer before each step, which is counted from 1.
    """

    ours: Callable[..., nn.Optimizer]
    theirs: Callable[[Settings, list[Theirs]], Theirs]
    options: Mapping[str, st.SearchStrategy[Any]]
    before_step: Callable[[Theirs, Settings, int], None] = nothing


def grouped(settings: Settings, parameters: list[Theirs]) -> list[dict[str, object]]:
    return [
        {"params": [p], "lr": rates[0], "weight_decay": decay}
        for p, (rates, decay) in zip(parameters, settings.groups, strict=True)
    ]


def sgd(settings: Settings, parameters: list[Theirs]) -> Theirs:
    options = settings.options
    return torch.optim.SGD(
        grouped(settings, parameters),
        momentum=options.get("momentum", 0.0),
        dampening=options.get("dampening", 0.0),
        nesterov=options.get("nesterov", options.get("use_nesterov", False)),
    )


def adam(settings: Settings, parameters: list[Theirs]) -> Theirs:
    options = settings.options
    return torch.optim.Adam(
        grouped(settings, parameters),
        betas=(options["beta1"], options["beta2"]),
        eps=options["eps"],
        amsgrad=options["use_amsgrad"],
    )


def epsilon_hat(optimizer: Theirs, settings: Settings, step: int) -> None:
    """Scale ε, which MindSpore adds to √v before the bias correction and PyTorch after it."""
    for group in optimizer.param_groups:
        group["eps"] = settings.options["eps"] / np.sqrt(1 - settings.options["beta2"] ** step)


def rmsprop(settings: Settings, parameters: list[Theirs]) -> Theirs:
    options = settings.options
    optimizer = torch.optim.RMSprop(
        grouped(settings, parameters),
        alpha=options["decay"],
        eps=1e-10,
        centered=options["centered"],
    )
    for p in parameters:  # the mean square begins with 1 in MindSpore, and with 0 in PyTorch
        optimizer.state[p] = {
            "step": torch.tensor(0.0),
            "square_avg": torch.ones_like(p),
            "grad_avg": torch.zeros_like(p),
        }
    return optimizer


def adagrad(settings: Settings, parameters: list[Theirs]) -> Theirs:
    return torch.optim.Adagrad(
        grouped(settings, parameters),
        initial_accumulator_value=settings.options["accum"],
        eps=0,
    )


def adadelta(settings: Settings, parameters: list[Theirs]) -> Theirs:
    options = settings.options
    return torch.optim.Adadelta(
        grouped(settings, parameters), rho=options["rho"], eps=options["epsilon"]
    )


def adamax(settings: Settings, parameters: list[Theirs]) -> Theirs:
    options = settings.options
    betas = options["beta1"], options["beta2"]
    return torch.optim.Adamax(grouped(settings, parameters), betas=betas, eps=1e-10)


factors = st.sampled_from([0.5, 0.75, 0.9])
OPTIMIZERS: dict[str, list[Kind]] = {
    "SGD": [
        Kind(
            nn.SGD, sgd, {"momentum": st.just(0.0) | factors, "dampening": st.just(0.0) | factors}
        ),
        Kind(nn.SGD, sgd, {"momentum": factors, "nesterov": st.just(True)}),
    ],
    "Momentum": [Kind(nn.Momentum, sgd, {"momentum": factors, "use_nesterov": st.booleans()})],
    "Adam": [
        Kind(
            nn.Adam,
            adam,
            {
                "beta1": factors,
                "beta2": st.sampled_from([0.5, 0.75, 0.96875]),
                "eps": st.sampled_from([1e-8, 1e-3, 1.0]),
                "use_amsgrad": st.booleans(),
            },
            epsilon_hat,
        )
    ],
    # Without momentum, by which PyTorch accumulates gradients and MindSpore steps.
    "RMSProp": [Kind(nn.RMSProp, rmsprop, {"decay": factors, "centered": st.booleans()})],
    "Adagrad": [Kind(nn.Adagrad, adagrad, {"accum": factors})],
    "Adadelta": [Kind(nn.Adadelta, adadelta, {"rho": factors, "epsilon": factors})],
    "AdaMax": [
        Kind(nn.AdaMax, adamax, {"beta1": factors, "beta2": factors, "eps": st.just(1e-10)})
    ],
}


def rates_of(cell: nn.LearningRateSchedule) -> Rates:
    return [float(cell(Tensor(step, int32))) for step in range(STEPS)]


def scheduled(rate: float, schedule: Callable[..., Theirs], **options: object) -> Rates:
    """Return the learning rates of PyTorch's schedule."""
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], rate)
    scheduler = schedule(optimizer, **options)
    rates: Rates = []
    for _ in range(STEPS):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


schedules = torch.optim.lr_scheduler
rate, above, every = st.floats(0.01, 1.0), st.floats(0.1, 1.0), st.integers(1, 12)
Both = tuple[Rates, Rates]


@st.composite
def exponential(draw: st.DrawFn) -> Both:
    start, factor, steps, stair = draw(rate), draw(above), draw(every), draw(st.booleans())
    theirs = (
        scheduled(start, schedules.StepLR, step_size=steps, gamma=factor)
        if stair
        else scheduled(start, schedules.ExponentialLR, gamma=factor ** (1 / steps))
    )
    return rates_of(nn.ExponentialDecayLR(start, factor, steps, stair)), theirs


@st.composite
def natural_exponential(draw: st.DrawFn) -> Both:
    start, decay, steps, stair = draw(rate), draw(above), draw(every), draw(st.booleans())
    theirs = (
        scheduled(start, schedules.StepLR, step_size=steps, gamma=np.exp(-decay * steps))
        if stair
        else scheduled(start, schedules.ExponentialLR, gamma=np.exp(-decay))
    )
    return rates_of(nn.NaturalExpDecayLR(start, decay, steps, stair)), theirs


@st.composite
def cosine(draw: st.DrawFn) -> Both:
    """Compare until `steps`: then PyTorch's rate increases again, and MindSpore's is constant."""
    low, more, steps = draw(rate), draw(above), draw(every)
    theirs = scheduled(low + more, schedules.CosineAnnealingLR, T_max=steps, eta_min=low)
    ours = rates_of(nn.CosineDecayLR(low, low + more, steps))
    assert all(rate == ours[steps] for rate in ours[steps:])
    return ours[: steps + 1], theirs[: steps + 1]


@st.composite
def polynomial(draw: st.DrawFn) -> Both:
    """Add the last rate to PyTorch's, which decays to 0."""
    low, more, steps, power = draw(rate), draw(above), draw(every), draw(st.floats(0.5, 3.0))
    theirs = scheduled(more, schedules.PolynomialLR, total_iters=steps, power=power)
    ours = rates_of(nn.PolynomialDecayLR(low + more, low, steps, power))
    return ours, [low + rate for rate in theirs]


@st.composite
def warm_up(draw: st.DrawFn) -> Both:
    """PyTorch's first rate must be above 0."""
    start, steps = draw(rate), draw(every)
    theirs = scheduled(start, schedules.LinearLR, start_factor=1e-12, total_iters=steps)
    return rates_of(nn.WarmUpLR(start, steps)), theirs


RATES: dict[str, st.SearchStrategy[Both]] = {
    "ExponentialDecayLR": exponential(),
    "NaturalExpDecayLR": natural_exponential(),
    "CosineDecayLR": cosine(),
    "PolynomialDecayLR": polynomial(),
    "WarmUpLR": warm_up(),
}
