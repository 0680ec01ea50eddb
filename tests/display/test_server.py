"""The server, asked over real sockets on free ports."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import struct
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import pytest

import spacy_rst
from spacy_rst import RstError
from spacy_rst.display.html import render_html
from spacy_rst.display.server import DrawingServer, _Handler, is_loopback, serve_drawing

from ..cli.processes import start_python
from .trees import mixed_tree

LOCAL = "127.0.0.1"
PAGE = render_html(mixed_tree())


@contextmanager
def serving(drawing: str = PAGE, style: str = "html", host: str = LOCAL) -> Iterator[DrawingServer]:
    with DrawingServer(drawing, style, host, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def ask(server: DrawingServer, path: str = "/", method: str = "GET", **headers: str):
    host, port = server.server_address[:2]
    connection = http.client.HTTPConnection(host, port)
    try:
        connection.request(method, path, headers=headers)
        response = connection.getresponse()
        return response, response.read().decode("utf8")
    finally:
        connection.close()


def test_page_is_served():
    with serving() as server:
        response, body = ask(server)
        assert response.status == 200
        assert body == PAGE
        assert response.headers["Content-Type"] == "text/html; charset=utf-8"
        assert server.url == f"http://127.0.0.1:{server.server_address[1]}/"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", path, 404) for path in ("/favicon.ico", "/index.html", "/?x=1", "/../etc/passwd")]
    + [(method, "/", 501) for method in ("POST", "PUT", "DELETE", "HEAD", "OPTIONS")],
)
def test_nothing_else_is_served(method, path, status):
    with serving() as server:
        response, body = ask(server, path, method)
    assert response.status == status and "She said" not in body


@pytest.mark.parametrize("path", ["/", "/missing"])
def test_every_answer_has_the_security_headers(path):
    with serving() as server:
        headers = ask(server, path)[0].headers
    expected = {
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
    assert expected.items() <= dict(headers).items()
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert headers["Content-Security-Policy"].endswith("; frame-ancestors 'none'")
    assert headers["Server"].strip() == "spacy_rst"


@pytest.mark.parametrize(
    ("name", "status", "host"),
    [("localhost:80", 200, LOCAL), ("127.0.0.1", 200, LOCAL), ("[::1]:5050", 200, LOCAL),
     ("evil.example", 421, LOCAL), ("localhost.evil.example", 421, LOCAL), ("[", 421, LOCAL),
     ("", 421, LOCAL), ("evil.example", 200, "0.0.0.0")],
)  # fmt: skip
def test_foreign_names_that_lead_here_get_nothing(name, status, host):
    with serving(host=host) as server:
        response, body = ask(server, Host=name)
    assert response.status == status
    assert (body == PAGE) is (status == 200)


@pytest.mark.parametrize(
    ("style", "drawing", "kind", "body"),
    [
        ("text", "<b>ü", "text/plain", "<b>ü"),
        ("svg", "<svg/>\n<svg/>", "text/html", "<!DOCTYPE html><title>Discourse trees</title>"),
    ],
)
def test_other_styles_are_served(style, drawing, kind, body):
    with serving(drawing, style) as server:
        response, found = ask(server)
    assert response.headers["Content-Type"] == f"{kind}; charset=utf-8"
    assert found.startswith(body) and found.endswith(drawing)


def test_port_in_use_is_told():
    with DrawingServer(PAGE, "html", LOCAL, 0) as server:
        port = server.server_address[1]
        with pytest.raises(RstError, match=str(port)) as error:
            spacy_rst.serve(mixed_tree(), port=port)
    assert error.value.code == "R541"


@pytest.mark.parametrize(
    ("host", "port", "code"),
    [(LOCAL, 70000, "R541"), ("no such host", 0, "R541"), ("", 0, r"R300.*127\.0\.0\.1")],
)
def test_where_it_cannot_listen_is_told(host, port, code):
    with pytest.raises(RstError, match=code):
        DrawingServer(PAGE, "html", host, port)


def open_connection(server: DrawingServer) -> socket.socket:
    return socket.create_connection(server.server_address[:2], timeout=60)


def reset(connection: socket.socket) -> None:
    no_lingering = struct.pack("ii", 1, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_lingering)
    connection.close()


def test_connections_that_are_reset_leave_no_traceback(capfd):
    with serving(PAGE * 500) as server:
        before, amid, after = (open_connection(server) for _ in range(3))
        reset(before)
        amid.sendall(b"GET / HT")
        reset(amid)
        after.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        after.recv(1)
        reset(after)
        assert ask(server)[0].status == 200
        wait_for_handlers()
    assert capfd.readouterr() == ("", "")


def wait_for_handlers() -> None:
    for thread in threading.enumerate():
        if "process_request" in thread.name:
            thread.join()


def test_errors_of_our_own_are_still_shown(capfd, monkeypatch):
    def fail(handler):
        raise RuntimeError("a bug")

    monkeypatch.setattr(_Handler, "do_GET", fail)
    with serving() as server, pytest.raises(http.client.RemoteDisconnected):
        ask(server)
    wait_for_handlers()
    assert "RuntimeError: a bug" in capfd.readouterr().err


def test_slow_clients_are_hung_up_on(monkeypatch):
    monkeypatch.setattr(_Handler, "patience_seconds", 0.3)
    with serving() as server, open_connection(server) as connection:
        connection.settimeout(0.02)
        given_up = monotonic() + 60
        is_open = True
        while is_open and monotonic() < given_up:
            try:
                connection.sendall(b"G")
                is_open = connection.recv(1) != b""
            except TimeoutError:
                continue
            except ConnectionError:
                is_open = False
        assert not is_open
        wait_for_handlers()


def test_only_other_hosts_than_this_one_give_a_warning():
    with DrawingServer(PAGE, "html", "0.0.0.0", 0) as server:
        port = server.server_address[1]
        with pytest.warns(UserWarning, match=r"R543.*0\.0\.0\.0"), pytest.raises(RstError):
            spacy_rst.serve(mixed_tree(), host="0.0.0.0", port=port)
        with warnings.catch_warnings(), pytest.raises(RstError):
            warnings.simplefilter("error")
            serve_drawing(PAGE, "html", LOCAL, port)


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("LOCALHOST", True),
     ("0.0.0.0", False), ("", False), ("192.168.0.1", False), ("example.org", False)],
)  # fmt: skip
def test_loopback_is_told_from_the_rest(host, expected):
    assert is_loopback(host) is expected


@pytest.mark.skipif(os.name == "nt", reason="SIGINT cannot be sent there")
def test_serve_runs_until_interrupted(tmp_path):
    code = """
from spacy_rst import RstTree, serve
serve(RstTree.from_splits([(0, 1, 2, "Cause-SN")], ["It rains", "so we stay"]), port=0)
"""
    with start_python("-u", "-c", code, cwd=tmp_path) as process:
        try:
            announced = process.stdout.readline()
            address = announced.split("http://")[1].split("/")[0]
            assert address.startswith("127.0.0.1:")
            connection = http.client.HTTPConnection(address)
            connection.request("GET", "/")
            assert b"so we stay" in connection.getresponse().read()
            connection.close()
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate()
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Stopped" in rest
