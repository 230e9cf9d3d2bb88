"""`minispore play`: the server answers its own page only, and a run ends with its reader."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection
from threading import Event as ThreadEvent
from threading import Thread
from time import monotonic

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from minispore._cli import main
from minispore._course import playground
from minispore._course.playground import DEFAULT
from minispore._course.playground_server import PlaygroundServer, outcome

REQUEST = json.dumps({**DEFAULT, "callbacks": "LossMonitor()"})


@pytest.fixture(scope="module")
def server() -> Iterator[PlaygroundServer]:
    with PlaygroundServer() as made:
        thread = Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def asked(
    server: PlaygroundServer,
    method: str,
    path: str,
    headers: Mapping[str, str] = {},
    body: str | None = None,
) -> tuple[int, str]:
    """Return the status and the text of an answer."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.putrequest(method, path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body is not None and "Content-Length" not in headers:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(None if body is None else body.encode())
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def test_server_sends_the_page_and_the_outcome(server: PlaygroundServer) -> None:
    assert asked(server, "GET", server.path) == (200, playground.page("run"))
    assert server.address == f"http://127.0.0.1:{server.server_port}{server.path}"
    origin = f"http://localhost:{server.server_port}"
    headers = {"Content-Type": "application/json", "Origin": origin}
    expected = playground.answer(REQUEST)
    body = REQUEST.replace(", ", ",\n")
    assert asked(server, "POST", f"{server.path}run", headers, body) == (200, expected)


names = st.from_regex(r"[a-z0-9.-]{1,20}(:[0-9]{1,5})?", fullmatch=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names, st.sampled_from(["Host", "Origin"]), st.booleans())
@example("localhost", "Host", False)
@example("null", "Origin", True)
def test_requests_of_other_pages_are_refused(
    server: PlaygroundServer, name: str, header: str, is_post: bool
) -> None:
    value = f"http://{name}" if header == "Origin" and name != "null" else name
    method, path = ("POST", f"{server.path}run") if is_post else ("GET", server.path)
    headers = {header: value, "Content-Type": "application/json"}
    status, text = asked(server, method, path, headers, REQUEST)
    assert (status, text) == (403, "This request came from another page.")


@given(st.from_regex(r"/[A-Za-z0-9_-]{0,50}/?(run)?", fullmatch=True))
def test_other_paths_do_not_exist(server: PlaygroundServer, path: str) -> None:
    for method in ("GET", "POST"):
        assert asked(server, method, path)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/json", "Content-Length": "-1"}, 413),
        ({"Content-Type": "application/json", "Content-Length": str(2**20 + 1)}, 413),
    ],
)
def test_other_requests_are_refused(
    server: PlaygroundServer, headers: dict[str, str], status: int
) -> None:
    assert asked(server, "POST", f"{server.path}run", headers, REQUEST)[0] == status


# The process of a run.


def code(text: str) -> bytes:
    return json.dumps({**DEFAULT, "code": text, "callbacks": ""}).encode()


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield both ends of a connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        one = socket.create_connection(listening.getsockname())
        other, _ = listening.accept()
        with one, other:
            yield one, other


ENDLESS = "while True: pass"
# A connection that is closed at once is reset.
AT_ONCE = struct.pack("ii", 1, 0)


def test_endless_run_is_stopped(ends: tuple[socket.socket, socket.socket]) -> None:
    status, text = outcome(code(ENDLESS), ends[0], seconds=0.2)
    assert (status, text) == (422, "It was stopped after 0.2 seconds: is there an infinite loop?")


@pytest.mark.parametrize("reset", [False, True])
def test_run_ends_when_its_reader_has_gone(
    ends: tuple[socket.socket, socket.socket], reset: bool
) -> None:
    start = monotonic()
    if reset:
        ends[1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    ends[1].close()
    outcome(code(ENDLESS), ends[0], seconds=60)
    assert monotonic() - start < 30


def test_code_that_ends_the_process_is_reported(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    status, text = outcome(code("import os; os._exit(3)"), ends[0])
    assert (status, text) == (
        422,
        "The process ended with status 3: does the code end the program?",
    )


def test_run_ends_with_the_server() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", playground.__name__],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(code(ENDLESS) + b"\n")
        process.stdin.close()
        assert process.wait(60) == 1


def test_server_goes_on_when_its_reader_has_gone(
    server: PlaygroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors, ended = list[object](), ThreadEvent()
    shutdown_request = server.shutdown_request

    def end(request: socket.socket) -> None:
        shutdown_request(request)
        ended.set()

    monkeypatch.setattr(server, "handle_error", lambda *_: errors.append(sys.exception()))
    monkeypatch.setattr(server, "shutdown_request", end)
    body = code(ENDLESS)
    with socket.create_connection(("127.0.0.1", server.server_port)) as reader:
        head = f"POST {server.path}run HTTP/1.0\r\nHost: {server.hosts[0]}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        reader.sendall(head.encode() + body)
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    assert ended.wait(60)
    assert errors == []
    assert asked(server, "GET", server.path)[0] == 200


# The command.


def test_command_opens_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = list[str]()

    def interrupt(_: PlaygroundServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(PlaygroundServer, "serve_forever", interrupt)
    assert main(["play"]) == main(["play", "--no-browser"]) == 0
    printed = re.findall(r"The callback playground: (\S+) \(", capsys.readouterr().out)
    assert len(set(printed)) == 2
    assert opened == printed[:1]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_the_command() -> None:
    command = [sys.executable, "-m", "minispore", "play", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
        assert address
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    with pytest.raises(ConnectionRefusedError), suppress(TimeoutError):
        socket.create_connection(("127.0.0.1", int(address[1])), timeout=5)
