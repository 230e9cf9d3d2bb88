"""The site's search: its indexes, when they are loaded, and its worker in pages that are files."""

import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.scripts import SCRIPTS, load_script

ASSETS = Path(__file__).parents[2] / "docs" / "assets"
SHIM = ASSETS / "iframe-worker.js"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=9000"]


@pytest.fixture(scope="module")
def search_index() -> ModuleType:
    pytest.importorskip("mkdocs")
    return load_script(SCRIPTS / "search_index.py")


PAGES = ["a.html", "b.html", "reference/c.html", "learn/d.html"]


@given(translated=st.sets(st.sampled_from(PAGES)))
def test_index_of_a_language_has_each_page_once_in_it_if_there_is_a_translation(
    search_index: ModuleType, translated: set[str]
) -> None:
    names = [*PAGES, *(name.replace(".html", ".zh.html") for name in translated)]
    text = "<p>One. Two.</p>"
    whole = [{"location": f"{name}#x", "title": "x", "text": text} for name in names]
    english, chinese = (search_index.chosen(whole, language) for language in ("en", "zh"))
    assert [search_index.page(each) for each in english] == PAGES
    expected = {name.replace(".html", ".zh.html") if name in translated else name for name in PAGES}
    assert sorted(search_index.page(each) for each in chinese) == sorted(expected)
    for each in english:
        is_reference = each["location"].startswith("reference/")
        assert each["text"] == ("One." if is_reference else text)
        assert ("boost" in each) == is_reference
    for each in chinese:
        assert ("boost" in each) == (".zh." not in each["location"])


INDEXED = """<html lang="{lang}"><script src="search-index.js"></script>
<input data-md-component="search-query"><input id="other"><body></body><script>
const request = new XMLHttpRequest();
request.open("GET", new URL("search/search_index.json", location));
request.onload = () => document.body.append(`loaded: ${{request.responseText}};`);
request.send();
setTimeout(() => document.querySelector("{used}").focus(), 500);
</script></html>"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "used", "query", "loaded"),
    [
        ("en", "[data-md-component]", "", b"loaded: English;"),
        ("zh", "[data-md-component]", "", b"loaded: Chinese;"),
        ("en", "#other", "", None),
        ("en", "#other", "?h=word", b"loaded: English;"),
    ],
)
def test_index_is_loaded_when_the_search_is_used(
    lang: str, used: str, query: str, loaded: bytes | None, tmp_path: Path
) -> None:
    shutil.copy(ASSETS / "search-index.js", tmp_path)
    (tmp_path / "index.html").write_text(INDEXED.format(lang=lang, used=used), "utf-8")
    (tmp_path / "search").mkdir()
    for name, text in (("search_index.json", "English"), ("search_index.zh.json", "Chinese")):
        (tmp_path / "search" / name).write_text(text, "utf-8")
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        shown = dumped(f"http://127.0.0.1:{server.server_port}/index.html{query}")
        server.shutdown()
    if loaded is None:
        assert b"loaded: " not in shown.replace(b"`loaded: $", b"")
    else:
        assert loaded in shown


def dumped(address: str) -> bytes:
    """Return the page as Chromium shows it after some seconds."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("There is no Chromium on this machine.")
    command = [browser, *FLAGS, "--dump-dom", address]
    return subprocess.check_output(command, stderr=subprocess.DEVNULL, timeout=120)


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
    shutil.copy(SHIM, tmp_path)
    (tmp_path / "index.html").write_text(PAGE, "utf-8")
    (tmp_path / "worker.js").write_text(WORKER, "utf-8")
    (tmp_path / "first.js").write_text("var first = 4;", "utf-8")
    (tmp_path / "second.js").write_text("var second = first * 10;", "utf-8")
    shown = dumped((tmp_path / "index.html").as_uri())
    assert b"answer 41;answer 42;" in shown
