"""Vault secrets in use appear in clear text only where they are needed."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from support.machine import Finished, Machine
from support.openai_server import OpenAIServer, Reply, Use
from support.serving import serving
from zstandard import ZstdDecompressor

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the openssl command"),
]
CANARIES = {
    name: f"canary/{name}+{os.getpid()}-{tail}"
    for name, tail in (
        ("model", "q8Zt41xRw0"),
        ("host", "m2Kd77vPy3"),
        ("mcp", "h5Wc90uLs6"),
        ("password", "j1Fb28nTe9"),
        ("away", "d7Xg63oQa4"),
    )
}
SERVER = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    answer = {}
    if asked["method"] == "initialize":
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "small", "version": "1"}}
    elif asked["method"] == "tools/list":
        answer = {"tools": [{"name": "env", "description": "Show what it was given.",
                             "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        sys.stderr.write("TRACKER_KEY is " + os.environ.get("TRACKER_KEY", "-") + "\\n")
        sys.stderr.flush()
        text = json.dumps(dict(os.environ))
        answer = {"content": [{"type": "text", "text": text}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answer}), flush=True)
"""
LOOK = "env; ps eww -u $(id -u) | tail -40; touch {name}; sleep {seconds}"


def forms(value: str) -> Iterator[bytes]:
    """A value as it is, quoted, in hexadecimal and in base64 at each alignment."""
    data = value.encode()
    yield data
    yield value.replace("/", "\\/").encode()
    for safe in ("", "/", "+"):
        yield quote(value, safe=safe).encode()
    yield data.hex().encode()
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + data)[(0, 2, 3)[before] :]
        yield coded[: len(coded) - 4]
        yield coded[: len(coded) - 4].translate(bytes.maketrans(b"+/", b"-_"))


FORMS = {name: tuple(forms(value)) for name, value in CANARIES.items()}


def canaries_in(data: bytes) -> list[str]:
    """The names of the canaries found in bytes, in any form."""
    return [name for name, all_ in FORMS.items() if any(one in data for one in all_)]


@dataclass
class Listener:
    """Servers beside the model's: an interface over HTTPS, and a collector of telemetry."""

    got: list[bytes] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    api: str = ""
    otlp: str = ""

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """Answers a GET with its headers, and keeps what is posted."""
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path == "/robots.txt":
                    self.answer(b"User-agent: *\nAllow: /\n")
                    return
                listener.got.append(bytes(self.headers))
                self.answer(bytes(self.headers))

            def do_POST(self) -> None:
                import gzip

                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                packed = self.headers.get("content-encoding") == "gzip"
                listener.bodies.append(gzip.decompress(body) if packed else body)
                self.answer(b"")

            def answer(self, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", "text/plain")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


@pytest.fixture
def listener(machine: Machine) -> Iterator[Listener]:
    """The servers, whose certificate the machine trusts."""
    folder = machine.home.parent
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "2"]
    subprocess.run(command, check=True, capture_output=True)
    machine.env["SSL_CERT_FILE"] = str(cert)
    made = Listener()
    secure = ThreadingHTTPServer(("127.0.0.1", 0), made.handler())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    secure.socket = context.wrap_socket(secure.socket, server_side=True)
    plain = ThreadingHTTPServer(("127.0.0.1", 0), made.handler())
    made.api = f"127.0.0.1:{secure.server_address[1]}"
    made.otlp = f"http://127.0.0.1:{plain.server_address[1]}"
    with serving(secure), serving(plain):
        yield made


@pytest.fixture
def database(postgres_server: str) -> Iterator[tuple[str, str]]:
    """The URL of a login with a password, and one of a server that is not there."""
    name = f"canary_{os.getpid()}"
    told = psycopg.conninfo.conninfo_to_dict(postgres_server)
    password = quote(CANARIES["password"], safe="")
    away = f"postgresql://me:{quote(CANARIES['away'], safe='')}@127.0.0.1:1/nothing"
    place = f"/postgres?host={told.get('host', '')}&port={told.get('port', 5432)}"
    with psycopg.connect(postgres_server, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{CANARIES['password']}'".encode())
        try:
            yield f"postgresql://{name}:{password}@{place}", away
        finally:
            admin.execute(f"DROP ROLE {name}".encode())


@pytest.fixture
def model(listener: Listener) -> Iterator[OpenAIServer]:
    """A model that looks for keys everywhere and at last rejects the key, repeating it."""
    looking: list[Any] = [
        Reply(tools=[Use("mcp__tracker__env", {})]),
        Reply(tools=[Use("mcp__other__env", {})]),
        Reply(tools=[Use("bash", {"command": LOOK.format(name="began", seconds=3)})]),
        Reply(tools=[Use("bash", {"command": "cat /proc/$PPID/environ"})]),
        Reply(tools=[Use("web_fetch", {"url": f"https://{listener.api}/mine"})]),
        Reply(tools=[Use("db_query", {"db": "shop", "sql": "SELECT 1"})]),
        Reply(tools=[Use("db_query", {"db": "shop", "sql": "SELECT name FROM nothing"})]),
        Reply(tools=[Use("db_query", {"db": "away", "sql": "SELECT 1"})]),
        Reply(tools=[Use("db_list", {})]),
        "I have found nothing.",
        Reply(tools=[Use("bash", {"command": LOOK.format(name="again", seconds=60)})]),
        "I go on.",
    ]
    told = f"Incorrect API key provided: {CANARIES['model']}."
    refusal = Reply(status=401, body={"error": {"message": told, "code": "invalid_api_key"}})
    with OpenAIServer([*looking, refusal]) as server:
        yield server


@pytest.fixture
def secrets_home(
    machine: Machine, listener: Listener, model: OpenAIServer, database: tuple[str, str]
) -> Machine:
    """A home with all secrets in the vault and every plugin on that stores something."""
    program = machine.home.parent / "server.py"
    program.write_text(SERVER, "utf-8")
    server = {"command": sys.executable, "args": ["-I", "-S", str(program)], "approval": "never"}
    other = {**server, "sandbox": False}
    config = {
        "model": "openai/gpt-4.1",
        "trace": True,
        "network": {"allow_hosts": ["127.0.0.1"]},
        "providers": {"openai": {"base_url": model.base_url, "api_key": "vault:model"}},
        "plugins": {
            **dict.fromkeys(("titles", "review", "user-model"), False),
            "audit": True,
            "otel": {"endpoint": listener.otlp, "content": True},
            "databases": True,
            "mcp": {
                "discovery": "direct",
                "servers": {
                    "tracker": {**other, "env": {"TRACKER_KEY": "vault:mcp"}},
                    "other": other,
                },
            },
        },
    }
    machine.config(json.dumps(config))
    assert_clean(machine.run("vault", "rekey", "--to", "file"))
    assert_clean(machine.run("vault", "set", "model", stdin=CANARIES["model"]))
    assert_clean(machine.run("vault", "set", "mcp", stdin=CANARIES["mcp"]))
    to = ("--host", listener.api, "--header", "X-Key: Bearer {}")
    assert_clean(machine.run("vault", "set", "api", *to, stdin=CANARIES["host"]))
    for name, url in zip(("shop", "away"), database, strict=True):
        assert_clean(machine.run("db", "add", name, "--url-stdin", stdin=url))
    assert_clean(machine.run("mcp", "approve", "tracker", "--yes"))
    assert_clean(machine.run("mcp", "approve", "other", "--yes"))
    return machine


def assert_clean(finished: Finished) -> Finished:
    """Assert that a run ended well and its output holds no secret."""
    assert finished.code == 0, finished.err
    assert not canaries_in((finished.out + finished.err).encode())
    return finished


def processes(root: int) -> Iterator[tuple[str, bytes]]:
    """Command line and environment of each process below one, with its name."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent, pid = int((folder / "stat").read_text().rpartition(")")[2].split()[1]), folder
            while parent not in (root, 0, 1):
                parent = int(Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
            if parent == root:
                line = (pid / "cmdline").read_bytes()
                yield line.decode("utf-8", "replace"), line + (pid / "environ").read_bytes()
        except (OSError, ValueError):
            continue


def assert_home_clean(home: Path) -> None:
    """Assert that no file and no file name holds a secret."""
    for file in home.rglob("*"):
        assert not canaries_in(str(file).encode()), file
        if file.is_file() and not file.is_symlink():
            assert not canaries_in(file.read_bytes()), file


def unpacked(file: Path) -> bytes:
    """What the archive of a backup holds."""
    packed = ZstdDecompressor().stream_reader(io.BytesIO(file.read_bytes())).read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        members = [tar.extractfile(one) for one in tar.getmembers() if one.isfile()]
        return b"".join(member.read() for member in members if member is not None)


def start(machine: Machine, file: str, *words: str) -> subprocess.Popen[bytes]:
    """Start a turn, and wait until its shell command runs."""
    process = machine.start("run", *words, "--session", "s", "--yes", "--json")
    until = time.monotonic() + 60
    while not (machine.workspace / file).exists():
        assert process.poll() is None, Machine.wait(process)
        assert time.monotonic() < until, f"{file} never came"
        time.sleep(0.02)
    return process


def test_secrets_in_use_appear_nowhere_in_clear_text(
    secrets_home: Machine, listener: Listener, model: OpenAIServer
) -> None:
    process = start(secrets_home, "began", "look")
    running = [*processes(process.pid)]
    assert sum("server.py" in line for line, _ in running) == 2, running
    assert_home_clean(secrets_home.home)  # with the WAL as it is meanwhile
    ended = assert_clean(Machine.wait(process))
    texts = [one["text"] for one in ended.events if one["type"] == "tool_result"]
    assert len(texts) == 9, texts
    assert '"TRACKER_KEY": "[secret]"' in texts[0]
    assert "TRACKER_KEY" not in texts[1]
    assert "PATH=" in texts[2]
    assert "the guard" not in texts[3]  # it looks at what the command may name, and has to bear it
    assert "x-key: [secret]" in texts[4]
    assert [b"canary" in one for one in listener.got] == [True]
    assert "| 1 |" in texts[5]
    assert texts[7].startswith("Error: ")
    held = [(line, canaries_in(data)) for line, data in running if canaries_in(data)]
    assert [names for _, names in held] == [["mcp"]], held

    process = start(secrets_home, "again", "go on")
    process.kill()
    process.communicate()
    assert_home_clean(secrets_home.home)
    refused = secrets_home.run("run", "hello", "--session", "s", "--no-input")
    assert refused.code == 1
    assert "I go on." in refused.err
    assert "[secret]" in refused.out + refused.err
    assert not canaries_in((refused.out + refused.err).encode())

    wire = b"".join(request.raw for request in model.requests)
    assert b"TRACKER_KEY" in wire
    assert not canaries_in(wire)
    told = b"".join(listener.bodies)
    assert b"I have found nothing." in told
    assert not canaries_in(told)
    show_all(secrets_home.run, secrets_home.home)
    assert_home_clean(secrets_home.home)


def show_all(run: Callable[..., Finished], home: Path) -> None:
    """Every command that shows something of the home."""
    for words in (
        *("config show", "config show --json", "config get providers.openai.api_key"),
        *("vault list", "vault list --json", "db list", "db list --json", "db test shop"),
        *("mcp list --json", "mcp tools tracker", "mcp tools tracker --json"),
        *("sessions list", "sessions show s", "sessions export s", "trace s", "trace s --json"),
        *("audit show", "audit show --json", "audit verify"),
        *(f"audit export --format {one}" for one in ("jsonl", "otlp", "syslog")),
        *("plugins list", "plugins info vault", "plugins info mcp", "prompt --session s"),
        *("insights", "insights --json", "memory log", "skills list"),
    ):
        assert_clean(run(*words.split()))
    for words in ("db test away", "doctor --offline", "doctor", "mcp test tracker"):
        finished = run(*words.split())
        assert not canaries_in((finished.out + finished.err).encode()), words
    key = (home / "vault.key").read_bytes()
    for words in ("backup create", "backup create --secrets"):
        made = Path(assert_clean(run(*words.split())).out.partition(": ")[0])
        held = unpacked(made)
        assert (key in held) == ("--secrets" in words)  # what opens the vault is not beside it
        assert b"vault_secrets" in held
        assert b"vault:mcp" in held
        assert not canaries_in(held), words
        assert_clean(run("backup", "verify", str(made)))
