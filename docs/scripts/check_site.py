"""Check every page of the built site in a browser: `python docs/scripts/check_site.py site`.

Each page is opened once from a local server, and shown on a wide and a narrow screen, light and
dark. Reported are script errors, missing files, requests to other hosts, broken links, content that
is wider than the screen, images without a description, and slides of a lesson that do not fit the
screen or have two programs or pictures.
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
# The browser itself makes no requests.
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
# Milliseconds for a page to load, on a busy machine.
LOAD_TIMEOUT = 120_000
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

CONTENTS = """() => ({
  links: Array.from(document.querySelectorAll("a[href]"), a => a.href),
  anchors: Array.from(document.querySelectorAll("[id], a[name]"), e => e.id || e.name),
  undescribed: Array.from(
    document.querySelectorAll("img:not([alt]), figure svg:not(:has(title)):not([aria-label])"),
    e => e.getAttribute("src") || e.outerHTML.slice(0, 80)),
})"""
# Elements that are wider than the page, unless they or a parent scroll.
OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const hidden = e => e && (getComputedStyle(e).overflowX !== "visible" || hidden(e.parentElement));
  return Array.from(document.body.querySelectorAll("*"))
    .filter(e => e.getBoundingClientRect().right > width + 1 && !hidden(e.parentElement))
    .map(e => e.outerHTML.slice(0, 80)).slice(0, 3);
}"""
SCREENS = ((1280, 720), (390, 844))  # for slides
HAS_SLIDES = """() => document.querySelector('script[src$="slides.js"]') !== null"""
BAD_SLIDES = """() => [...document.querySelectorAll("article > section")].filter(slide => {
  const count = kind => slide.querySelectorAll(`:scope > :is(${kind})`).length;
  const pictures = ".printed, .guess, .formula, figure, svg, img, iframe, .output, .exercise";
  return slide.clientHeight > innerHeight || slide.scrollHeight > slide.clientHeight + 1
    || count(".highlight:not(.printed)") > 1 || count(pictures) > 1;
}).map(slide => slide.innerText.slice(0, 80))"""


class Contents(TypedDict):
    """The links, anchors and undescribed images of a page."""

    links: list[str]
    anchors: list[str]
    undescribed: list[str]


@dataclass
class Findings:
    """The findings so far, and the links and anchors of each page."""

    origin: str
    reports: list[str] = field(default_factory=list[str])
    links: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    anchors: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def report(self, page: str, problem: str) -> None:
        """Record and print a problem once."""
        line = f"{page}: {' '.join(problem.split())}"
        if line not in self.reports:
            self.reports.append(line)
            print(line, flush=True)

    def broken_links(self) -> Iterator[tuple[str, str]]:
        """Yield each page with a link to a missing page or anchor."""
        for path, links in self.links.items():
            for link in sorted(links):
                target, anchor = urldefrag(link)
                file = re.sub("/$", "/index.html", urlsplit(target).path)
                anchors = self.anchors.get(file)
                if anchors is None or (anchor and unquote(anchor) not in anchors):
                    yield path, link.removeprefix(self.origin)


class QuietHandler(SimpleHTTPRequestHandler):
    """A request handler that keeps connections open and writes no log."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        """Do nothing."""


@contextmanager
def served(folder: Path) -> Generator[str]:
    """Serve a folder inside of the block, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def check_pages(folder: Path, browser: str) -> Findings:
    """Check each page of a folder and its links."""
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
        report_events(page, findings)
        for file in sorted(folder.rglob("*.html")):
            check_page(page, f"/{file.relative_to(folder).as_posix()}", findings)
    for file in folder.rglob("*"):
        findings.anchors.setdefault(f"/{file.relative_to(folder).as_posix()}", set())
    for path, link in findings.broken_links():
        findings.report(path, f"the link {link} is broken")
    return findings


def report_events(page: Page, findings: Findings) -> None:
    """Report failed requests and script errors while pages are opened."""

    def report(problem: str) -> None:
        findings.report(page.url.removeprefix(findings.origin), problem)

    def on_request(request: Request) -> None:
        if not request.url.startswith((findings.origin, "data:", "blob:")):
            report(f"requests {request.url} from another host")

    def on_response(response: Response) -> None:
        if response.status >= 400:
            report(f"{response.url} answers {response.status}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            report(f"the console says: {message.text}")

    page.on("request", on_request)
    page.on("response", on_response)
    page.on("console", on_console)
    page.on("pageerror", lambda error: report(f"a script fails: {error}"))


def check_page(page: Page, path: str, findings: Findings) -> None:
    """Open one page, and show it with each width and colour scheme."""
    page.goto(findings.origin + path, timeout=LOAD_TIMEOUT)
    contents = cast("Contents", page.evaluate(CONTENTS))
    findings.links[path] = {link for link in contents["links"] if link.startswith(findings.origin)}
    findings.anchors[path] = set(contents["anchors"])
    for picture in contents["undescribed"]:
        findings.report(path, f"an image without a description: {picture}")
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            for element in cast("list[str]", page.evaluate(OVERFLOW)):
                findings.report(path, f"wider than {width} pixels: {element}")
    if page.evaluate(HAS_SLIDES):
        check_slides(page, path, findings)


def check_slides(page: Page, path: str, findings: Findings) -> None:
    """Show the slides of a lesson with each size of the screen."""
    for width, height in SCREENS:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{findings.origin}{path}?slides", timeout=LOAD_TIMEOUT)
        for slide in cast("list[str]", page.evaluate(BAD_SLIDES)):
            findings.report(path, f"a slide does not fit {width} x {height} pixels: {slide}")


def main() -> int:
    """Check a folder; return 1 if there are findings."""
    parser = argparse.ArgumentParser(description="Check every page of a built site.")
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("There is no Chromium on this machine: the pages were NOT checked.")
        return 0
    findings = check_pages(folder, browser)
    print(f"{len(findings.links)} pages checked, {len(findings.reports)} findings.")
    return 1 if findings.reports else 0


if __name__ == "__main__":
    sys.exit(main())
