"""Approvals by an admin on another channel, and speech by another service."""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import threading
import wave
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx2
import pytest
from openai import BadRequestError, NotFoundError

from .conftest import TEST_TIMEOUT, Served, free_port, until

SECRET = "correct horse battery staple"


def recording() -> bytes:
    """A short silence as a WAV file."""
    file = io.BytesIO()
    with wave.open(file, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(8000)
        made.writeframes(b"\0\0" * 800)
    return file.getvalue()


class HelperService:
    """Takes the admin's messages, and turns speech into text and back."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                kind, sent = outer.answer(self.path, body)
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,)).start()

    def answer(self, path: str, body: bytes) -> tuple[str, bytes]:
        if path == "/v1/audio/transcriptions":
            return "application/json", b'{"text": "hello from the recording"}'
        if path == "/v1/audio/speech":
            return "audio/wav", recording()
        self.texts.append(json.loads(body)["text"])
        return "text/plain", b""

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def helper_service() -> Iterator[HelperService]:
    made = HelperService()
    yield made
    made.close()


def boss(port: int, id_: str, text: str) -> None:
    """A message of the admin, by the webhook."""
    body = json.dumps({"id": id_, "chat": "boss", "user": "boss", "text": text}).encode()
    sign = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hookline-Signature": f"sha256={sign}"}
    url = f"http://127.0.0.1:{port}/webhook"
    httpx2.post(url, content=body, headers=headers, trust_env=False).raise_for_status()


@pytest.mark.slow
def test_admin_approves_elsewhere_while_stream_is_kept_alive(
    home: Served, helper_service: HelperService
) -> None:
    port = free_port()
    webhook = {"listen": f"127.0.0.1:{port}", "secret": SECRET, "reply_url": helper_service.url}
    home.configure(access={"admins": ["webhook:boss"]}, webhook=webhook)
    home.start()
    boss(port, "b1", "say here I am")
    until(lambda: helper_service.texts)

    def stream() -> str:
        body = {
            "model": "hookline",
            "stream": True,
            "messages": [{"role": "user", "content": "sudo it"}],
        }
        return home.post("/chat/completions", body).text

    with ThreadPoolExecutor(1) as pool:
        streaming = pool.submit(stream)
        until(lambda: any("For api:ann" in text for text in helper_service.texts))
        question = next(text for text in helper_service.texts if "For api:ann" in text)
        assert "sudo true" in question
        threading.Event().wait(2)  # for the comments, which tell the client that it goes on
        boss(port, "b2", "1")
        stream = streaming.result(TEST_TIMEOUT)
    assert stream.count(": keep-alive") >= 2
    assert "bash waits for approval." in stream
    assert "was refused" not in stream
    assert "← bash" in stream or "✗ bash" in stream
    assert stream.rstrip().endswith("data: [DONE]")


@pytest.mark.slow
def test_admin_key_cannot_approve_through_api(home: Served) -> None:
    home.configure(access={"admins": ["api:ann"]})
    home.start()
    body = {"model": "hookline", "messages": [{"role": "user", "content": "sudo it"}]}
    done = home.post("/chat/completions", body).json()["choices"][0]["message"]
    assert "approvals are not possible through the API" in done["reasoning_content"]
    assert done["content"] == "You said: sudo it"


@pytest.mark.slow
def test_speech_uses_configured_service(home: Served, helper_service: HelperService) -> None:
    home.configure(multimedia={"base_url": f"{helper_service.url}/v1", "api_key": "none"})
    home.start()
    client = home.client()
    file = ("a.wav", recording())
    words = client.audio.transcriptions.create(model="whisper-1", file=file)
    assert words.text == "hello from the recording"
    said = client.audio.speech.create(
        model="tts-1", voice="alloy", input="read this", response_format="wav"
    )
    assert said.content == recording()
    with pytest.raises(BadRequestError, match="not an audio recording"):
        client.audio.transcriptions.create(model="whisper-1", file=("a.wav", b"no sound"))
    with pytest.raises(BadRequestError, match="input is empty"):
        client.audio.speech.create(model="tts-1", voice="alloy", input=" ")


@pytest.mark.slow
def test_missing_speech_service_returns_404_with_command(served: Served) -> None:
    client = served.client()
    with pytest.raises(NotFoundError, match="plugins enable multimedia"):
        client.audio.transcriptions.create(model="whisper-1", file=("a.wav", recording()))
    with pytest.raises(NotFoundError, match="plugins enable multimedia"):
        client.audio.speech.create(model="tts-1", voice="alloy", input="read this")
