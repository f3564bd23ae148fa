"""``/v1/audio``: speech to text and text to speech, if a plugin provides them."""

from __future__ import annotations

from hookline_hookspecs import Audio, Host, ProviderError, ToolError
from hookline_hookspecs.speech import Speaker, Transcriber, audio_kind
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from .errors import ApiError, invalid_request, turn_failed
from .file_store import FileStore
from .json_body import read_field
from .message_content import FilePart

NO_AUDIO = "Audio needs plugin multimedia. Run `hookline plugins enable multimedia`."
FORMATS = ("json", "text")


async def transcribe(host: Host, request: Request, files: FileStore) -> Response:
    """Return the text of a recording. Raises ``ApiError``."""
    service = host.services.get(Transcriber)
    if service is None:
        raise ApiError(404, NO_AUDIO, "not_available")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise ApiError(415, "Send the recording as multipart/form-data.", "unsupported_media_type")
    try:
        form = await request.form(max_files=1, max_fields=20)
    except MultiPartException as error:
        raise invalid_request(
            f"The form is invalid: {error.message}", code="invalid_form"
        ) from None
    upload = form.get("file")
    shape = form.get("response_format") or "json"
    language = form.get("language")
    if not isinstance(upload, UploadFile):
        raise invalid_request("file is missing; send the recording in it.", "file")
    if shape not in FORMATS:
        raise invalid_request(f"response_format must be {' or '.join(FORMATS)}.", "response_format")
    data = await upload.read()
    if audio_kind(data[:4096]) is None:
        raise invalid_request("file is not an audio recording.", "file")
    saved = await files.save_one(FilePart(upload.filename or "audio", data))
    assert isinstance(saved, Audio)
    try:
        words = await service.transcribe(
            saved.path, language=language if isinstance(language, str) and language else None
        )
    except (ProviderError, ToolError) as error:
        raise turn_failed(getattr(error, "kind", "internal"), str(error)) from None
    finally:
        saved.path.unlink(missing_ok=True)
    if shape == "text":
        return PlainTextResponse(words + "\n")
    return JSONResponse({"text": words})


async def speak(host: Host, data: dict[str, object]) -> Response:
    """Return speech for a text. Raises ``ApiError``."""
    service = host.services.get(Speaker)
    if service is None:
        raise ApiError(404, NO_AUDIO, "not_available")
    text = read_field(data, "input", str, "").strip()
    if not text:
        raise invalid_request("input is empty; send the text to read aloud in it.", "input")
    if len(text) > service.max_chars:
        raise invalid_request(f"input is longer than {service.max_chars:,} characters.", "input")
    voice = data.get("voice")
    try:
        made = await service.speak(
            text,
            voice=voice if isinstance(voice, str) and voice else None,
            format=read_field(data, "response_format", str, "mp3"),
        )
    except (ProviderError, ToolError) as error:
        raise turn_failed(getattr(error, "kind", "internal"), str(error)) from None
    return Response(made.data, media_type=made.kind.mime)
