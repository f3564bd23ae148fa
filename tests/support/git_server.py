"""A git server on this machine that speaks https: git's own ``http-backend`` behind TLS."""

from __future__ import annotations

import os
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass
class GitServer:
    """``url`` is of the repository ``skills.git``; ``asked`` are the requests, ``redirect`` where
    they are sent to instead, ``files`` other files that are served, by their path."""

    url: str
    certificate: Path
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    redirect: str = ""
    files: dict[str, bytes] = field(default_factory=dict)

    @property
    def root(self) -> str:
        """The address of the folder with the repositories."""
        return self.url.rpartition("/")[0]


def git(folder: Path, *arguments: str) -> None:
    """Run git as somebody who commits, without the user's configuration."""
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "core.hooksPath=")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", *settings, *arguments]
    subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)


def _certificate(folder: Path) -> tuple[Path, Path]:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return key, certificate


@contextmanager
def serving(repositories: Path, folder: Path) -> Iterator[GitServer]:
    """Serve the bare repositories of a folder."""
    key, certificate = _certificate(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    port = server.server_address[1]
    found = GitServer(f"https://localhost:{port}/skills.git", certificate)
    server.RequestHandlerClass = _handler(repositories, found)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(repositories: Path, found: GitServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            self._answer()

        def _answer(self) -> None:
            found.asked.append((self.path, dict(self.headers)))
            if found.redirect:
                self.send_response(302)
                self.send_header("Location", found.redirect + self.path)
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            if path in found.files:
                self.send_response(200)
                self.send_header("Content-Length", str(len(found.files[path])))
                self.end_headers()
                self.wfile.write(found.files[path])
                return
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            env = {
                **os.environ,
                "GIT_PROJECT_ROOT": str(repositories),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_GLOBAL": os.devnull,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type") or "",
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            }
            run = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True)
            head, _, content = run.stdout.partition(b"\r\n\r\n")
            headers = [line.split(": ", 1) for line in head.decode().split("\r\n") if line]
            status = next((v for n, v in headers if n == "Status"), "200 OK")
            self.send_response(int(status.split()[0]))
            for name, value in headers:
                if name != "Status":
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    return Handler
