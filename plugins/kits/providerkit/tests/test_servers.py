"""Which local servers are model servers."""

from __future__ import annotations

from collections.abc import Iterator
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest
from hookline_providerkit.servers import find_local_servers, list_models, local_servers
from support.openai_server import OpenAIServer
from support.serving import serving

NOBODY = "http://127.0.0.1:9/v1"
ANSWERS = {
    "a page": b"HTTP/1.0 200 OK\r\n\r\n<html>Hello</html>",
    "other JSON": b'HTTP/1.0 200 OK\r\n\r\n{"data": {"id": 1}}',
    "an error": b"HTTP/1.0 401 No\r\n\r\n{}",
    "no HTTP": b"SSH-2.0-OpenSSH_9.6\r\n",
    "nothing": b"",
}


class Rude(ThreadingTCPServer):
    """Sends one answer to everything."""

    daemon_threads = True
    answer = b""

    @property
    def url(self) -> str:
        """The address of its models."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Saying(StreamRequestHandler):
    """Reads the request's first line and answers."""

    server: Rude

    def handle(self) -> None:
        self.rfile.readline()
        self.wfile.write(self.server.answer)


@pytest.fixture
def rude() -> Iterator[Rude]:
    with serving(Rude(("127.0.0.1", 0), Saying)) as server:
        yield server


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_list_models_is_none_for_other_servers(rude: Rude, answer: bytes) -> None:
    rude.answer = answer
    assert list_models(rude.url, {}, 5.0) is None


def test_list_models_follows_no_redirect(rude: Rude) -> None:
    with OpenAIServer(models=["small"]) as server:
        there = f"Location: {server.base_url}/models"
        rude.answer = f"HTTP/1.0 302 Found\r\n{there}\r\n\r\n".encode()
        assert list_models(rude.url, {"Authorization": "Bearer k"}, 5.0) is None
        assert not server.requests


def test_find_local_servers_uses_addresses_of_the_environment() -> None:
    unreachable = {server.url: NOBODY for server in local_servers()}
    assert find_local_servers(unreachable) == []
    with OpenAIServer(models=["small", "large"]) as server:
        (found,) = find_local_servers(unreachable | {"OLLAMA_BASE_URL": server.base_url})
    assert found.models == ("small", "large")
    assert str(found) == f"ollama runs at 127.0.0.1:{server.port} with 2 models"
