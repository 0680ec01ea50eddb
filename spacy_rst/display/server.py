"""A web server for one drawing: it answers `GET /` and nothing else."""

from __future__ import annotations

import ipaddress
import socket
import sys
import warnings
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from threading import Timer
from typing import Any
from urllib.parse import urlsplit

from wasabi import msg

from ..errors import Errors, RstError
from .html import content_policy

CONTENT_TYPES = {"text": "text/plain", "svg": "text/html", "html": "text/html"}
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class DrawingServer(ThreadingTCPServer):
    """Serves a drawing, as `render` gave it, on an address and a port, 0 for any that is free."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, drawing: str, style: str, host: str, port: int) -> None:
        if not host:
            wanted = "127.0.0.1 for this computer only, or 0.0.0.0 for all of its addresses"
            raise RstError(Errors.R300.format(name="host", value=host, wanted=wanted))
        # Drawings in SVG may be several, which only a page can hold.
        page = f"<!DOCTYPE html><title>Discourse trees</title>{drawing}"
        self.body = (page if style == "svg" else drawing).encode("utf8")
        self.content_type = f"{CONTENT_TYPES[style]}; charset=utf-8"
        self.is_local = is_loopback(host)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), _Handler)
        except (OSError, OverflowError) as error:
            raise RstError(Errors.R541.format(host=host, port=port, error=error)) from error

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away; show errors of our own."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Where the drawing can be seen."""
        host, port = self.server_address[:2]
        return f"http://[{host!s}]:{port}/" if ":" in str(host) else f"http://{host!s}:{port}/"


class _Handler(BaseHTTPRequestHandler):
    server: DrawingServer
    server_version = "spacy_rst"
    sys_version = ""
    patience_seconds = 30.0

    def handle(self) -> None:
        # A time-out of the socket would begin anew with each byte that a slow client sends.
        hanging_up = Timer(self.patience_seconds, self._hang_up)
        hanging_up.daemon = True
        hanging_up.start()
        try:
            super().handle()
        finally:
            hanging_up.cancel()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        # A foreign site whose name leads to this computer could read the page in its visitors'
        # browsers; it cannot make them ask for "localhost", though.
        if self.server.is_local and not is_loopback(self._asked_host()):
            return self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
        if self.path != "/":
            return self.send_error(HTTPStatus.NOT_FOUND)
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", self.server.content_type)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def _asked_host(self) -> str:
        try:
            return urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        except ValueError:
            return ""

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", f"{content_policy()}; frame-ancestors 'none'")
        super().end_headers()

    def log_message(self, *args: object) -> None:
        """Keep the terminal free of requests."""


def is_loopback(host: str) -> bool:
    """Tell whether only this computer can reach an address. Of names only "localhost" counts."""
    try:
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def serve_drawing(drawing: str, style: str, host: str, port: int) -> None:
    """Serve a drawing until interrupted. See `serve`."""
    if host and not is_loopback(host):
        warnings.warn(Errors.R543.format(host=host), stacklevel=3)
    with DrawingServer(drawing, style, host, port) as server:
        msg.info(f"Serving on {server.url} until interrupted with Ctrl+C")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            msg.info("Stopped serving")
