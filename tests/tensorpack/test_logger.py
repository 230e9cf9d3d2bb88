"""The log messages and the output folder of the callbacks."""

import logging
import shutil
from contextlib import nullcontext
from pathlib import Path

import pytest

from minispore.tensorpack import (
    Callback,
    DumpTensors,
    HumanHyperParamSetter,
    MinSaver,
    ModelSaver,
    logger,
)
from tests.helpers.stub_models import Rows, make


def test_messages_are_printed_without_logging_handlers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.Logger("test")
    monkeypatch.setattr(logger, "_log", log)
    logger.info("one")
    logger.warn("two")
    assert capsys.readouterr().out == "one\ntwo\n"


def test_logger_dir_is_created_and_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert logger.get_logger_dir() is None
    monkeypatch.chdir(tmp_path)
    logger.set_logger_dir("a/b")
    assert logger.get_logger_dir() == str(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_logger_dir_with_files_is_kept_deleted_or_refused(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    for action, remains in ((None, True), ("k", True), ("q", True), ("d", False)):
        logger.set_logger_dir(folder, "q")  # without files but hidden ones, nothing is refused
        (folder / "sub").mkdir()
        (folder / ".hidden").touch()
        with pytest.raises(OSError, match="contains files") if action == "q" else nullcontext():
            logger.set_logger_dir(folder, action)
        assert (folder / "sub").exists() is (folder / ".hidden").exists() is remains
        shutil.rmtree(folder)


def test_folder_for_prefers_the_given_folder(tmp_path: Path) -> None:
    logger.set_logger_dir(tmp_path)
    assert logger.folder_for(None, object()) == str(tmp_path)
    assert logger.folder_for(tmp_path / "other", object()) == str(tmp_path / "other")


@pytest.mark.parametrize(
    "callback",
    [ModelSaver(), MinSaver("loss"), HumanHyperParamSetter("learning_rate"), DumpTensors("loss")],
)
def test_callbacks_that_need_a_folder_say_so_before_training(callback: Callback) -> None:
    with pytest.raises(ValueError, match=f"{type(callback).__name__} has no output folder"):
        make().train(1, Rows(), [callback])
