"""A fake of OpenAI's media endpoints, and a person whose model uses the tools.

``data/`` holds half a second of a 440 Hz tone in several formats, written by PyAV.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline_hookspecs import Attachment, Audio, Inbound, ToolResult
from hookline_hookspecs.speech import audio_kind
from hookline_multimedia import Multimedia
from support.serving import serving

DATA = Path(__file__).parent / "data"
KEY = "sk-right-key-1234567890"
IMAGE_MODELS = {"gpt-image-1-mini", "gpt-image-2.5-flare", "gpt-image-2.5-sunburst"}
IMAGE_FIELDS = {"model", "prompt", "size", "n", "quality", "background", "output_format", "user"}
SIZES = {"auto", "1024x1024", "1536x1024", "1024x1536"}
VISION_MODELS = {"gpt-5-mini", "gpt-5.5"}
SPEECH_MODELS = {"gpt-4o-mini-tts", "tts-1"}
VOICES = {"alloy", "ash", "ballad", "coral", "echo", "fable", "nova", "onyx", "sage", "shimmer"}
FORMATS = {"mp3", "opus", "aac", "flac", "wav", "pcm"}
TRANSCRIPTION_MODELS = {"gpt-transcribe", "whisper-1"}
TRANSCRIPTION_FIELDS = {"file", "model", "language", "prompt", "response_format", "temperature"}
ENDINGS = {"flac", "mp3", "mp4", "mpeg", "mpga", "m4a", "ogg", "wav", "webm"}
MOST_AUDIO = 26_214_400


def make_png(width: int = 2, height: int = 2) -> bytes:
    """A real PNG."""

    def chunk(name: bytes, body: bytes) -> bytes:
        crc = zlib.crc32(name + body)
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc)

    rows = b"".join(b"\x00" + b"\x20\x60\xa0" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def wav(seconds: float = 0.5, rate: int = 8000) -> bytes:
    """A real WAV file of silence, 16 bits, mono."""
    body = b"\x00\x00" * int(seconds * rate)
    form = struct.pack("<HHIIHH", 1, 1, rate, rate * 2, 2, 16)
    chunks = b"WAVEfmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(body))
    return b"RIFF" + struct.pack("<I", len(chunks) + len(body)) + chunks + body


def sound(name: str) -> bytes:
    """The tone in a format; silence in WAV."""
    return wav() if name == "wav" else (DATA / f"tone.{name}").read_bytes()


class Refusal(Exception):
    """An error response in OpenAI's format."""

    def __init__(self, status: int, message: str, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.status = status
        error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
        self.body = json.dumps({"error": error}).encode()


@dataclass
class Request:
    """One request; ``json`` of a JSON body, ``form`` of a multipart one."""

    path: str
    headers: dict[str, str]
    json: Any = None
    form: dict[str, Any] = field(default_factory=dict)


@dataclass
class Canned:
    """An answer in place of the server's own."""

    status: int = 200
    body: bytes = b""
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    hold: bool = False
    cut: bool = False


class MediaServer(ThreadingHTTPServer):
    """Images, chat with pictures, speech and transcriptions on loopback.

    ``canned`` answers come first, one for each request. ``words`` is what is heard in every
    recording, ``seen`` what is seen in every picture. Without a ``key`` none is asked for.
    """

    daemon_threads = True

    def __init__(self, key: str | None = KEY) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = key
        self.requests: list[Request] = []
        self.canned: list[Canned] = []
        self.files: dict[str, bytes] = {}
        self.words = "turn on the lamp"
        self.seen = "a red bicycle"
        self.formats = set(FORMATS)
        self.picture: dict[str, Any] | None = None
        self.released = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.base_url = f"{self.url}/v1"

    def asked(self, path: str) -> list[Request]:
        """The requests to an endpoint."""
        return [request for request in self.requests if request.path == f"/v1/{path}"]

    def handle_error(self, *_: Any) -> None:
        """Some tests drop the connection; that is no error of the server."""

    # The endpoints

    def answer(self, request: Request) -> tuple[bytes, str]:
        """Body and content type. Raises :class:`Refusal`."""
        told = request.headers.get("authorization")
        if self.key is not None and told != f"Bearer {self.key}":
            raise Refusal(401, f"Incorrect API key provided: {told}.", "invalid_api_key")
        match request.path:
            case "/v1/images/generations":
                return self._image(request.json), "application/json"
            case "/v1/chat/completions":
                return self._vision(request.json), "application/json"
            case "/v1/audio/speech":
                return self._speech(request.json), "application/octet-stream"
            case "/v1/audio/transcriptions":
                return self._transcription(request), "application/json"
        raise Refusal(404, f"Invalid URL (POST {request.path})", "unknown_url")

    def _image(self, body: dict[str, Any]) -> bytes:
        for name in set(body) - IMAGE_FIELDS:
            raise Refusal(400, f"Unknown parameter: '{name}'.", "unknown_parameter")
        _known(body, IMAGE_MODELS)
        if not body.get("prompt"):
            raise Refusal(
                400, "Missing required parameter: 'prompt'.", "missing_required_parameter"
            )
        if body.get("size", "auto") not in SIZES:
            raise Refusal(400, f"Invalid size '{body['size']}'. Supported sizes are {SIZES}.")
        if "forbidden" in body["prompt"]:
            text = "Your request was rejected by the safety system."
            raise Refusal(400, text, "moderation_blocked")
        shown = self.picture or {"b64_json": base64.b64encode(make_png()).decode()}
        return json.dumps({"created": 1_700_000_000, "data": [shown]}).encode()

    def _vision(self, body: dict[str, Any]) -> bytes:
        _known(body, VISION_MODELS)
        (message,) = body["messages"]
        parts = {part["type"]: part for part in message["content"]}
        url = parts["image_url"]["image_url"]["url"]
        found = re.fullmatch(r"data:(image/\w+);base64,(.+)", url)
        try:
            head = base64.b64decode(found[2], validate=True)[:12] if found else b""
        except binascii.Error:
            head = b""
        kinds = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
        kinds[b"RIFF"] = "image/webp"
        kind = next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)
        if found is None or kind != found[1]:
            raise Refusal(400, "You uploaded an unsupported image.", "invalid_image_format")
        message = {"role": "assistant", "content": self.seen, "refusal": None}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return json.dumps({"id": "c1", "object": "chat.completion", "choices": [choice]}).encode()

    def _speech(self, body: dict[str, Any]) -> bytes:
        _known(body, SPEECH_MODELS)
        if body.get("voice") not in VOICES:
            said = f"Input should be one of {sorted(VOICES)}"
            raise Refusal(400, f"[{{'loc': ('body', 'voice'), 'msg': \"{said}\"}}]")
        wanted = body.get("response_format", "mp3")
        if wanted not in self.formats:
            raise Refusal(400, f"Input should be one of {sorted(self.formats)}, got '{wanted}'")
        if not 1 <= len(body.get("input", "")) <= 4096:
            raise Refusal(400, "String should have at most 4096 characters", "string_too_long")
        return sound(wanted)

    def _transcription(self, request: Request) -> bytes:
        form = request.form
        for name in set(form) - TRANSCRIPTION_FIELDS:
            raise Refusal(400, f"Unrecognized request argument supplied: {name}")
        _known(form, TRANSCRIPTION_MODELS)
        if "file" not in form:
            raise Refusal(400, "Missing required parameter: 'file'.", "missing_required_parameter")
        name, data = form["file"]
        if name.rpartition(".")[2] not in ENDINGS or audio_kind(data) is None:
            raise Refusal(400, f"Invalid file format. Supported formats: {sorted(ENDINGS)}")
        if len(data) > MOST_AUDIO:
            raise Refusal(413, f"Maximum content size limit ({MOST_AUDIO}) exceeded")
        if not re.fullmatch(r"[a-z]{2,3}", form.get("language", "en")):
            raise Refusal(400, f"Invalid language '{form['language']}'.", "invalid_language_format")
        return json.dumps({"text": self.words}).encode()


def _known(body: dict[str, Any], models: set[str]) -> None:
    model = body.get("model")
    if not model:
        raise Refusal(400, "you must provide a model parameter", "missing_required_parameter")
    if model not in models:
        text = f"The model '{model}' does not exist or you do not have access to it."
        raise Refusal(404, text, "model_not_found")


class _Handler(BaseHTTPRequestHandler):
    server: MediaServer

    def do_GET(self) -> None:
        found = self.server.files.get(self.path)
        self.server.requests.append(Request(self.path, self._headers()))
        self._reply(Canned(404 if found is None else 200, found or b"", "text/plain"))

    def do_POST(self) -> None:
        request = self._request()
        self.server.requests.append(request)
        try:
            if self.server.canned:
                canned = self.server.canned.pop(0)
                if canned.hold:
                    self.server.released.wait()
                self._reply(canned)
                return
            body, kind = self.server.answer(request)
            self._reply(Canned(200, body, kind))
        except Refusal as refusal:
            self._reply(Canned(refusal.status, refusal.body))
        except OSError:
            self.close_connection = True  # who asked has gone

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _request(self) -> Request:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        request = Request(self.path, self._headers())
        kind = self.headers.get("content-type", "")
        if kind.startswith("multipart/form-data"):
            head = f"Content-Type: {kind}\r\n\r\n".encode()
            for part in BytesParser(policy=HTTP).parsebytes(head + body).iter_parts():
                data = part.get_payload(decode=True)
                name = part.get_param("name", header="content-disposition")
                file = part.get_filename()
                request.form[str(name)] = (file, data) if file else data.decode()
        elif body:
            request.json = json.loads(body)
        return request

    def _reply(self, canned: Canned) -> None:
        self.send_response(canned.status)
        self.send_header("Content-Type", canned.kind)
        length = len(canned.body) + (1000 if canned.cut else 0)
        for name, value in ({"Content-Length": str(length)} | canned.headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(canned.body)
        if canned.cut:
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


class MediaTools:
    """A person whose model makes the calls a test wants."""

    def __init__(
        self, make: Callable[..., Harness], server: MediaServer, *plugins: Any, **more: Any
    ):
        self.server = server
        settings = {"base_url": server.base_url, "api_key": server.key, "max_retries": 0}
        core = more.pop("core", {})
        others = more.pop("others", {})
        home = {"home": more.pop("home")} if "home" in more else {}
        config = {"multimedia": settings | more, **others}
        self.harness = make(*plugins, Multimedia, config=config, core=core, **home)

    def call(self, name: str, **arguments: Any) -> ToolResult:
        """The result of one call."""
        self.harness.model.steps[:] = [calls(name, **arguments), "done"]
        (result,) = self.harness.send("go").tool_calls
        return result

    def text(self, name: str, **arguments: Any) -> str:
        """The result of one call as the model reads it."""
        return self.call(name, **arguments).text

    def file(self, name: str, data: bytes) -> Path:
        """A file in the workspace."""
        path = self.harness.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    @property
    def media(self) -> list[Path]:
        """The files that were made."""
        folder = self.harness.home / "media"
        return sorted(folder.iterdir()) if folder.is_dir() else []

    def say(
        self,
        text: str,
        *steps: Any,
        attachments: tuple[Audio | Attachment, ...] = (),
        chat: str = "chat",
    ) -> Any:
        """The reply that the fake channel delivers for a message."""
        h = self.harness
        h.model.steps[:] = list(steps)
        number = len(h.channel.sent) + 1
        inbound = Inbound("fake", chat, "user", f"m{number}", text, attachments)

        async def exchange() -> Any:
            await h.runtime.dispatcher.receive(inbound)
            return (await h.channel.replies(number, seconds=60))[-1]

        return h.run(exchange())


@pytest.fixture
def make_server() -> Iterator[Callable[..., MediaServer]]:
    """Makes servers that end with the test."""
    with ExitStack() as stack:

        def make(key: str | None = KEY) -> MediaServer:
            server = MediaServer(key)
            return stack.enter_context(serving(server, server.released))

        yield make


@pytest.fixture
def server(make_server: Callable[..., MediaServer]) -> MediaServer:
    """A server that requires its key."""
    return make_server()


@pytest.fixture
def make_media_tools(
    harness: Callable[..., Harness], server: MediaServer
) -> Callable[..., MediaTools]:
    """Makes media tools; keywords are settings of the plugin, ``core`` those of core."""
    return lambda *plugins, at=server, **more: MediaTools(harness, at, *plugins, **more)


@pytest.fixture
def media_tools(make_media_tools: Callable[..., MediaTools]) -> MediaTools:
    """The media tools with the server."""
    return make_media_tools()


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the environment: no service, no proxy."""
    names = ["OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"]
    names += ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    for name in names:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def png() -> bytes:
    """A real picture."""
    return make_png()


@pytest.fixture
def tone() -> Callable[[str], bytes]:
    """Real recordings by format: ``tone("opus")``."""
    return sound


@pytest.fixture
def canned() -> type[Canned]:
    """Answers in place of the server's own."""
    return Canned
