"""Attributes of modules: the names in `dir`, and the errors for missing names."""

import pickle
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from importlib import import_module, reload, resources
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name, walk_packages
from types import new_class
from typing import Any
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minispore
from minispore import Tensor, nn
from minispore.train import Model
from minispore.utils.unsupported import Unsupported, find_advice, is_supported
from tests.helpers.optimizer_cases import optimizer_classes


def modules() -> list[str]:
    """Return the names of all modules of the package that can be imported here."""
    found = walk_packages(minispore.__path__, "minispore.")
    left_out = ("_cupy", "__main__", "lessons.lesson", "solutions.")
    return [module.name for module in found if not any(part in module.name for part in left_out)]


@pytest.mark.parametrize("name", modules())
def test_each_module_lists_its_public_names_and_suggests_one(name: str) -> None:
    module = import_module(name)
    is_facade = "__dir__" in vars(module)
    assert is_facade or not Path(module.__file__ or "").with_suffix(".pyi").exists()
    if is_facade or "__all__" in vars(module):
        names = [each for each in module.__all__ if not each.startswith("_")]
        assert dir(module) == sorted(names) if is_facade else {*names} <= {*dir(module)}
    message = f"^module '{name}' has no attribute 'absent'"
    with pytest.raises(AttributeError, match=message) as caught:
        _ = module.absent
    assert (caught.value.name, caught.value.obj) == ("absent", module)
    with pytest.raises(ImportError, match="^cannot import name 'absent' from"):
        exec(f"from {name} import absent")


def test_remark_follows_other_missing_names() -> None:
    for name, remark in table()["remarks"].items():
        with pytest.raises(AttributeError, match=f"no attribute 'absent': {remark}$"):
            _ = import_module(name).absent


@pytest.mark.full
def test_package_in_an_archive_has_its_names(tmp_path: Path) -> None:
    folder = Path(minispore.__file__).parent
    with ZipFile(tmp_path / "minispore.zip", "w") as archive:
        for file in (*folder.rglob("*.py"), *folder.rglob("*.pyi"), *folder.rglob("*.toml")):
            archive.write(file, file.relative_to(folder.parent))
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from minispore.dataset import *;"
        "from minispore import nn;"
        "print(WaitedDSCallback.__module__, nn.Conv3d, 'layer' in dir(nn))"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "minispore.zip")]
    output = subprocess.check_output(command, encoding="utf-8")
    path = "minispore.train.callback._waited_ds_callback"
    assert output == f"{path} <unsupported 'minispore.nn.Conv3d'> False\n"


def test_reloaded_module_finds_names() -> None:
    module = reload(import_module("minispore.dataset.callback"))
    assert module.WaitedDSCallback is minispore.dataset.WaitedDSCallback
    assert dir(module) == ["DSCallback", "WaitedDSCallback"]
    assert pickle.loads(pickle.dumps(module.DSCallback)) is module.DSCallback


def table() -> dict[str, Any]:
    text = resources.files("minispore.utils").joinpath("unsupported.toml").read_text("utf-8")
    return tomllib.loads(text)


def unsupported_paths() -> list[str]:
    return [
        f"{module}.{name}"
        for group in table()["mindspore"]
        for module in group["modules"]
        for name in group["names"].split()
    ]


def test_unsupported_names_do_not_exist_in_their_modules() -> None:
    names: dict[str, set[str]] = {}
    for path in unsupported_paths():
        module, _, name = path.rpartition(".")
        names.setdefault(module, set()).add(name)
        assert not is_supported(path), f"Remove '{path}' from minispore/utils/unsupported.toml."
    for module, unsupported in names.items():
        both = unsupported & {*dir(import_module(module))}
        assert not both, f"Remove {both} of '{module}' from minispore/utils/unsupported.toml."


@given(st.sampled_from(unsupported_paths()))
def test_unsupported_name_is_imported_and_refused_when_used(path: str) -> None:
    module, _, name = path.rpartition(".")
    namespace: dict[str, Unsupported] = {}
    exec(f"from {module} import {name}", None, namespace)
    unsupported = namespace[name]
    assert not isinstance(1, unsupported)  # type: ignore[arg-type]

    def item() -> object:
        return unsupported[0]

    uses: list[Callable[[], object]] = [
        unsupported,
        unsupported.attribute,
        partial(new_class, "Subclass", (unsupported,)),
        item,
        partial(list[object], unsupported),
    ]
    for use in uses:
        with pytest.raises(NotImplementedError, match=f"^'{path}.*' is left out of") as caught:
            use()
        assert str(caught.value).endswith(f" {find_advice(path)}")


def test_unsupported_module_is_imported_and_refused_when_used() -> None:
    for statement in (
        "import minispore.train.data_sink as module",
        "from minispore.train import data_sink as module",
    ):
        namespace: dict[str, Unsupported] = {}
        exec(statement, None, namespace)
        with pytest.raises(NotImplementedError, match="'minispore.train.data_sink.f' is left out"):
            namespace["module"].f()


def test_unknown_module_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'minispore.nothing'"):
        import_module("minispore.nothing")


@pytest.mark.parametrize(
    ("module", "name", "use"),
    [(module, *pair) for module, names in table()["others"].items() for pair in names.items()],
)
def test_names_of_other_libraries_name_ours(module: str, name: str, use: str) -> None:
    """A failure names the line of minispore/utils/unsupported.toml to be removed."""
    with pytest.raises(AttributeError, match=f"'{module}' has no attribute '{name}'") as e:
        getattr(import_module(module), name)
    assert str(e.value).endswith(f": use {use}")


def test_names_in_the_advice_exist() -> None:
    tables = table()
    texts = [
        group["advice"].replace("{name}", name)
        for group in tables["mindspore"]
        for name in group["names"].split()
    ]
    for kind in ("others", "attributes", "keyword_sentences"):
        texts += [text for owner in tables[kind].values() for text in owner.values()]
    pattern = r"\b(?:minispore|nn|ops|Tensor)\.\w+(?:\.\w+)*"
    names = {name for text in texts for name in re.findall(pattern, text)}
    assert len(names) > 100
    assert [name for name in sorted(names) if not is_supported(name)] == []


@pytest.mark.parametrize(
    ("path", "supported"),
    [
        ("mindspore.nn.Dense", True),
        ("minispore.nn.Dense", True),
        ("nn.Dense", True),
        ("Tensor", True),
        ("mindspore.train.data_sink", False),
        ("nn.Linear", False),
        ("nothing.at.all", False),
    ],
)
def test_is_supported_takes_names_with_or_without_the_package(path: str, supported: bool) -> None:
    assert is_supported(path) is supported


def test_attributes_of_an_unsupported_name_are_unsupported_but_not_special_ones() -> None:
    name = Unsupported("minispore.nn.Absent", "Use nn.Dense.")
    assert isinstance(name.method, Unsupported)
    assert not hasattr(name, "__array__")


# Keywords.

NAMES_OF_CLASSES = """
nn.Conv1d nn.Conv2d nn.Conv2dTranspose nn.Dense nn.Embedding nn.LeakyReLU nn.Softmax
train.CheckpointConfig train.ModelCheckpoint train.Model
"""
FUNCTIONS: list[Callable[..., object]] = [
    *optimizer_classes(),
    *(resolve_name(f"minispore.{name}") for name in NAMES_OF_CLASSES.split()),
    *(getattr(Model(nn.Dense(2, 1)), name) for name in ("train", "fit", "eval", "predict")),
]


@pytest.mark.parametrize(("keyword", "uses"), table()["keywords"].items())
def test_keyword_of_another_library_is_refused_with_the_name_here(keyword: str, uses: str) -> None:
    refused = 0
    for function in FUNCTIONS:
        names = signature(function).parameters
        found = [use for use in uses.split() if use in names]
        if found and keyword not in names:
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}': ") as e:
                function(**{keyword: 1})
            assert all(f"'{use}'" in str(e.value) for use in found)
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("path", "keyword", "sentence"),
    [
        (path, keyword, sentence)
        for path, sentences in table()["keyword_sentences"].items()
        for keyword, sentence in sentences.items()
    ],
)
def test_keyword_without_a_name_here_is_refused_with_a_sentence(
    path: str, keyword: str, sentence: str
) -> None:
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{keyword}'") as e:
        getattr(minispore.train, path)(**{keyword: 1})
    assert str(e.value).endswith(f". {sentence}")


def test_other_keywords_have_pythons_error() -> None:
    for function in FUNCTIONS:
        with pytest.raises(TypeError, match=r" 'absent'\.?$|missing 1 required"):
            function(absent=1)


# Attributes of classes.


class WithProperty(nn.Cell):
    """A cell whose property fails, and that has a method with a name of PyTorch."""

    @property
    def broken(self) -> object:
        return getattr(self, "absent_in_property")  # noqa: B009 (type checkers would see it)

    def train(self) -> str:
        return "its own"


NET = nn.Dense(2, 1)
INSTANCES: dict[str, list[object]] = {
    "minispore.ops.tensors.Tensor": [Tensor(1.0)],
    "minispore.nn.cell.Cell": [nn.Cell(), NET, nn.CosineDecayLR(0.1, 0.2, 2)],
    "minispore.nn.optim.optimizer.Optimizer": [nn.SGD(NET.trainable_params())],
    "minispore.nn.optim._rates.LearningRateSchedule": [nn.PolynomialDecayLR(1.0, 0.5, 2, 1.0)],
    "minispore.train.model.Model": [Model(NET)],
}


@pytest.mark.parametrize("owner", table()["attributes"])
def test_attributes_of_other_libraries_are_missing_with_a_sentence(owner: str) -> None:
    for name, sentence in table()["attributes"][owner].items():
        assert not hasattr(resolve_name(owner), name)
        for instance in INSTANCES[owner]:
            assert not hasattr(instance, name)
            assert getattr(instance, name, "default") == "default"
            with pytest.raises(AttributeError) as caught:
                getattr(instance, name)
            kind = type(instance).__name__
            assert str(caught.value) == f"'{kind}' object has no attribute '{name}'. {sentence}"
            assert (caught.value.name, caught.value.obj) == (name, instance)


@pytest.mark.parametrize("instance", [entry[0] for entry in INSTANCES.values()], ids=INSTANCES)
def test_other_missing_attributes_have_pythons_error(instance: object) -> None:
    for name in ("absent", "_absent", "__absent__"):
        with pytest.raises(AttributeError, match=f"object has no attribute '{name}'$") as caught:
            getattr(instance, name)
        assert (caught.value.name, caught.value.obj) == (name, instance)


def test_attributes_of_subclasses_are_used() -> None:
    cell = WithProperty()
    assert cell.train() == "its own"
    with pytest.raises(AttributeError, match="no attribute 'absent_in_property'$"):
        _ = cell.broken
