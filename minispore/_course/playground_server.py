"""`minispore play`: the callback playground as a page of a server on this computer.

The page makes the server execute code. So the server accepts connections of this computer only, its
address contains a secret, and it refuses requests that pages of other servers have made.
"""

import os
import secrets
import select
import socket
import subprocess
import sys
import webbrowser
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory, TemporaryFile
from time import monotonic

from minispore._course import playground

SECONDS = 60.0  # for a run and its checks
_MAX_REQUEST = 2**20
_POLL_SECONDS = 0.1


def play(*, opens_browser: bool) -> None:
    """Serve the page until Ctrl-C, and open it in a browser if asked."""
    try:
        with PlaygroundServer() as server:
            print(f"The callback playground: {server.address} (Ctrl-C ends it)", flush=True)
            if opens_browser:
                webbrowser.open(server.address)
            server.serve_forever()
    except KeyboardInterrupt:
        print()


class PlaygroundServer(ThreadingHTTPServer):
    """The server, on a free port.

    Attributes:
        path: The path of the page, which contains the secret.
        hosts: The values of the header Host that it accepts.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.path = f"/{secrets.token_urlsafe()}/"
        self.hosts = [f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")]

    @property
    def address(self) -> str:
        """The address of the page."""
        return f"http://{self.hosts[0]}{self.path}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def _playground(self) -> PlaygroundServer:
        assert isinstance(self.server, PlaygroundServer)
        return self.server

    def do_GET(self) -> None:
        """Send the page."""
        if self._is_allowed(self._playground.path):
            self._send(200, playground.page("run"), "text/html")

    def do_POST(self) -> None:
        """Run what was chosen, and send the outcome."""
        if self._is_allowed(f"{self._playground.path}run"):
            self._send(*self._outcome())

    def _outcome(self) -> tuple[int, str]:
        # A page of another server needs no permission to send other types.
        if self.headers["Content-Type"] != "application/json":
            return 415, "The request must be JSON."
        length = self.headers["Content-Length"] or ""
        if not length.isdecimal() or int(length) > _MAX_REQUEST:
            return 413, f"The request must have up to {_MAX_REQUEST} bytes."
        return outcome(self.rfile.read(int(length)), self.connection)

    def _is_allowed(self, path: str) -> bool:
        """Answer a request that another page has made, or of another path, with an error."""
        hosts = self._playground.hosts
        origin = self.headers.get("Origin", f"http://{hosts[0]}")
        if self.headers["Host"] not in hosts or origin not in [f"http://{host}" for host in hosts]:
            self._send(403, "This request came from another page.")
        elif not secrets.compare_digest(self.path.encode(), path.encode()):
            self._send(404, "The address is the one that minispore play has printed.")
        else:
            return True
        return False

    def _send(self, status: int, text: str, kind: str = "text/plain") -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", "frame-ancestors 'none'")
        self.send_header("Referrer-Policy", "no-referrer")
        with suppress(ConnectionError):  # the reader has stopped the run
            self.end_headers()
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def outcome(request: bytes, connection: socket.socket, seconds: float = SECONDS) -> tuple[int, str]:
    """Run what was chosen in a process, which ends with this one, or when the reader stops it.

    Args:
        request: The choices as JSON.
        connection: To the reader, who closes it to stop the run.
        seconds: The limit of time.

    Returns:
        The status of the answer, and the outcome as HTML or what is wrong.
    """
    command = [sys.executable, "-m", playground.__name__]
    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        TemporaryFile(dir=folder) as results,
        subprocess.Popen(  # noqa: S603 (it is Python itself)
            command,
            env=os.environ | {"TMPDIR": folder},
            stdin=subprocess.PIPE,
            stdout=results,
            stderr=subprocess.DEVNULL,
        ) as process,
    ):
        assert process.stdin is not None
        end = monotonic() + seconds
        try:
            with suppress(BrokenPipeError):
                process.stdin.write(request.replace(b"\n", b" ") + b"\n")
                process.stdin.flush()
            while process.poll() is None and monotonic() < end and not _is_closed(connection):
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_POLL_SECONDS)
            status = process.poll()
        finally:
            process.kill()
        results.seek(0)
        if status == 0:
            return 200, results.read().decode()
        if status is None:
            return 422, f"It was stopped after {seconds:g} seconds: is there an infinite loop?"
        return 422, f"The process ended with status {status}: does the code end the program?"


def _is_closed(connection: socket.socket) -> bool:
    """Return whether the other side has closed a connection."""
    readable, _, _ = select.select([connection], [], [], 0)
    try:
        return bool(readable) and not connection.recv(1, socket.MSG_PEEK)
    except ConnectionError:
        return True
