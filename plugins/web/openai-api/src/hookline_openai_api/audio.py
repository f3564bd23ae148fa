"""``/v1/audio``: speech to text and back, where a plugin does it."""

from __future__ import annotations

from hookline_hookspecs import Audio, Host, ProviderError, ToolError
from hookline_hookspecs.speech import Speaker, Transcriber, audio_kind
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from .body import take
from .content import FilePart
from .errors import ApiError, bad, failed
from .files import Files

NONE = "There is no audio here; `hookline plugins enable multimedia` brings it."
FORMATS = ("json", "text")


async def transcribed(host: Host, request: Request, files: Files) -> Response:
    """Return the words of a recording. Raises ``ApiError``."""
    service = host.services.get(Transcriber)
    if service is None:
        raise ApiError(404, NONE, "not_available")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise ApiError(415, "Send the recording as multipart/form-data.", "unsupported_media_type")
    try:
        form = await request.form(max_files=1, max_fields=20)
    except MultiPartException as error:
        raise bad(f"The form cannot be read: {error.message}", code="invalid_form") from None
    upload, shape = form.get("file"), form.get("response_format") or "json"
    language = form.get("language")
    if not isinstance(upload, UploadFile):
        raise bad("file is missing; it is the recording.", "file")
    if shape not in FORMATS:
        raise bad(f"response_format is {' or '.join(FORMATS)}.", "response_format")
    data = await upload.read()
    if audio_kind(data[:4096]) is None:
        raise bad("file is no recording by its content.", "file")
    saved = await files.save_one(FilePart(upload.filename or "audio", data))
    assert isinstance(saved, Audio)
    try:
        words = await service.transcribe(
            saved.path, language=language if isinstance(language, str) and language else None
        )
    except (ProviderError, ToolError) as error:
        raise failed(getattr(error, "kind", "internal"), str(error)) from None
    finally:
        saved.path.unlink(missing_ok=True)
    if shape == "text":
        return PlainTextResponse(words + "\n")
    return JSONResponse({"text": words})


async def spoken(host: Host, data: dict[str, object]) -> Response:
    """Return a text, read aloud. Raises ``ApiError``."""
    service = host.services.get(Speaker)
    if service is None:
        raise ApiError(404, NONE, "not_available")
    text = take(data, "input", str, "").strip()
    if not text:
        raise bad("input is empty; it is the text to read aloud.", "input")
    if len(text) > service.max_chars:
        raise bad(f"input is longer than {service.max_chars:,} characters.", "input")
    voice = data.get("voice")
    try:
        made = await service.speak(
            text,
            voice=voice if isinstance(voice, str) and voice else None,
            format=take(data, "response_format", str, "mp3"),
        )
    except (ProviderError, ToolError) as error:
        raise failed(getattr(error, "kind", "internal"), str(error)) from None
    return Response(made.data, media_type=made.kind.mime)
