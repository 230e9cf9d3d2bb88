"""Look at every page of the built site as a browser shows it: `python docs/check_site.py site`.

Each page is opened once from a server on this machine, and then shown on a wide screen and on a
narrow one, light and dark. It is told what a reader would stumble over: errors of scripts, files
that are not there or come from elsewhere, links that lead nowhere, pages wider than the screen,
pictures that say nothing to those who do not see them.
"""

import argparse
import re
import shutil
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Literal, TypedDict, cast
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import ConsoleMessage, Page, Request, Response, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Nothing is asked of the network but what the pages ask for.
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = (1280, 390)
# Milliseconds for a page to load, on a machine that has much else to do.
PATIENCE = 120_000
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# Each page reads all words of the site for its search, which takes longer than all the rest.
NO_WORDS = (
    '{"config": {"fields": {}, "lang": ["en"], "pipeline": [], "separator": " "}, "docs": []}'
)

CONTENTS = """() => ({
  links: Array.from(document.querySelectorAll("a[href]"), a => a.href),
  anchors: Array.from(document.querySelectorAll("[id], a[name]"), e => e.id || e.name),
  mute: Array.from(
    document.querySelectorAll("img:not([alt]), figure svg:not(:has(title)):not([aria-label])"),
    e => e.getAttribute("src") || e.outerHTML.slice(0, 80)),
})"""
# What stands out of the page, unless it scrolls by itself, or what it is in does.
OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const hidden = e => e && (getComputedStyle(e).overflowX !== "visible" || hidden(e.parentElement));
  return Array.from(document.body.querySelectorAll("*"))
    .filter(e => e.getBoundingClientRect().right > width + 1 && !hidden(e.parentElement))
    .map(e => e.outerHTML.slice(0, 80)).slice(0, 3);
}"""


class Contents(TypedDict):
    """What a page consists of, as far as it is checked."""

    links: list[str]
    anchors: list[str]
    mute: list[str]


@dataclass
class Findings:
    """What was found on the pages so far, and where the links are that are still to be followed."""

    origin: str
    told: list[str] = field(default_factory=list[str])
    links: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    anchors: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def tell(self, where: str, what: str) -> None:
        """Note something, and say it, once."""
        line = f"{where}: {' '.join(what.split())}"
        if line not in self.told:
            self.told.append(line)
            print(line, flush=True)

    def dead_links(self) -> Iterator[tuple[str, str]]:
        """Each page with a link to a page or a place that is not there."""
        for path, links in self.links.items():
            for link in sorted(links):
                target, anchor = urldefrag(link)
                file = re.sub("/$", "/index.html", urlsplit(target).path)
                there = self.anchors.get(file)
                if there is None or (anchor and unquote(anchor) not in there):
                    yield path, link.removeprefix(self.origin)


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that keeps its connections, and no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Generator[str]:
    """The address at which a folder can be read while the block lasts."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def look_at_all(folder: Path, browser: str) -> Findings:
    """Open each page of a folder, and follow its links."""
    with (
        served(folder) as origin,
        TemporaryDirectory() as profile,
        sync_playwright() as playwright,
        playwright.chromium.launch_persistent_context(
            profile, executable_path=browser, args=FLAGS
        ) as context,
    ):
        findings = Findings(origin)
        page = context.new_page()
        page.route("**/search_index.json", lambda route: route.fulfill(body=NO_WORDS))
        listen(page, findings)
        for file in sorted(folder.rglob("*.html")):
            look_at(page, f"/{file.relative_to(folder).as_posix()}", findings)
    for file in folder.rglob("*"):
        findings.anchors.setdefault(f"/{file.relative_to(folder).as_posix()}", set())
    for path, link in findings.dead_links():
        findings.tell(path, f"the link {link} leads nowhere")
    return findings


def listen(page: Page, findings: Findings) -> None:
    """Note what goes wrong while pages are opened."""

    def tell(what: str) -> None:
        findings.tell(page.url.removeprefix(findings.origin), what)

    def on_request(request: Request) -> None:
        if not request.url.startswith((findings.origin, "data:", "blob:")):
            tell(f"asks elsewhere for {request.url}")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            tell(f"{response.url} answers {response.status}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            tell(f"the console says: {message.text}")

    page.on("request", on_request)
    page.on("response", on_response)
    page.on("console", on_console)
    page.on("pageerror", lambda error: tell(f"a script fails: {error}"))


def look_at(page: Page, path: str, findings: Findings) -> None:
    """Open one page, and show it in each way."""
    page.goto(findings.origin + path, timeout=PATIENCE)
    contents = cast("Contents", page.evaluate(CONTENTS))
    findings.links[path] = {link for link in contents["links"] if link.startswith(findings.origin)}
    findings.anchors[path] = set(contents["anchors"])
    for picture in contents["mute"]:
        findings.tell(path, f"a picture without words: {picture}")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            for element in cast("list[str]", page.evaluate(OVERFLOW)):
                findings.tell(path, f"wider than {width} pixels: {element}")


def main() -> int:
    """Check the folder that is named; 1 if anything was found."""
    parser = argparse.ArgumentParser(description="Look at every page of a built site.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("There is no Chromium on this machine: the pages were NOT looked at.")
        return 0
    findings = look_at_all(folder, browser)
    print(f"{len(findings.links)} pages were looked at, {len(findings.told)} findings.")
    return 1 if findings.told else 0


if __name__ == "__main__":
    sys.exit(main())
