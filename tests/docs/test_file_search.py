"""The site's search in pages that are opened as files, where browsers start no worker."""

import shutil
import subprocess
from pathlib import Path

import pytest

SHIM = Path(__file__).parents[2] / "docs" / "assets" / "iframe-worker.js"
PAGE = """<body></body><script src="iframe-worker.js"></script><script>
const worker = new Worker("worker.js");
worker.addEventListener("message", ({ data }) => document.body.append(`answer ${data.sum};`));
for (const number of [1, 2]) worker.postMessage({ number });
</script>"""
# As the worker of the site's theme, which waits for imported scripts before it answers.
WORKER = """
const imported = importScripts("first.js", "second.js");
addEventListener("message", async ({ data }) => {
  await imported;
  postMessage({ sum: data.number + second });
});"""


@pytest.mark.slow
def test_worker_in_a_frame_imports_scripts_and_answers_messages(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    shutil.copy(SHIM, tmp_path)
    (tmp_path / "index.html").write_text(PAGE, "utf-8")
    (tmp_path / "worker.js").write_text(WORKER, "utf-8")
    (tmp_path / "first.js").write_text("var first = 4;", "utf-8")
    (tmp_path / "second.js").write_text("var second = first * 10;", "utf-8")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"]
    command = [browser, *flags, "--dump-dom", (tmp_path / "index.html").as_uri()]
    shown = subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=120)
    assert b"answer 41;answer 42;" in shown
