"""A page that follows a running experiment: a small server for this machine's own browser."""

from __future__ import annotations

import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from eluder.report.page import render
from eluder.report.stored import StoredReport

HOST = "127.0.0.1"  # never anything else: the page is not for the network
_SECONDS = 5.0  # a page is made anew at most this often


class Server(ThreadingHTTPServer):
    """Serves the report of a store at / and its version at /version, to this machine only."""

    daemon_threads = True

    def __init__(self, source: StoredReport, port: int = 0):
        super().__init__((HOST, port), _Handler)
        self._source = source
        self._lock = threading.Lock()
        self._version, self._page, self._made = "", "", -float("inf")

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def version(self) -> str:
        """What the stored results are now, looked at every few seconds."""
        with self._lock:
            return self._look()

    def page(self) -> str:
        """The page of the current version. If it cannot be made, the last one that could."""
        with self._lock:
            version = self._look()
            if version != self._version or not self._page:
                try:
                    self._page = render(self._source.report(), version=version)
                    self._version = version
                except (ValueError, OSError):
                    if not self._page:
                        raise
                self._made = time.monotonic()
            return self._page

    def _look(self) -> str:
        if self._page and time.monotonic() - self._made < _SECONDS:
            return self._version
        return self._source.fingerprint()


class _Handler(BaseHTTPRequestHandler):
    server: Server  # type: ignore[assignment]

    def do_GET(self) -> None:
        # A name that points here from elsewhere (DNS rebinding) would let another site read the page.
        if self.headers.get("Host") not in {f"{name}:{self.server.server_port}" for name in (HOST, "localhost")}:
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", "This page is for this machine only.")
        elif self.path == "/version":
            self._answer(HTTPStatus.OK, "text/plain", self.server.version())
        elif self.path == "/":
            try:
                self._answer(HTTPStatus.OK, "text/html", self.server.page())
            except (ValueError, OSError) as error:
                self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", str(error), refresh=True)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "There is only one page: /")

    def _answer(self, status: HTTPStatus, kind: str, text: str, *, refresh: bool = False) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Frame-Options", "DENY")
        if refresh:
            self.send_header("Refresh", "2")  # no results yet: look again
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args) -> None:
        """Says nothing: the terminal belongs to the command."""
