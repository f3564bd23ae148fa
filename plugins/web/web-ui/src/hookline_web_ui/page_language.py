"""Translation in the templates, and of what Hookline has written before it knew the reader."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from hookline_hookspecs.web import RequestLike, language, plain_name, translate
from hookline_webkit.languages import COOKIE, chosen_language
from markupsafe import Markup, escape
from starlette.responses import Response

YEAR = 365 * 86400
"""Seconds for which a browser remembers a language."""
WRITTEN_ELSEWHERE = ("clarify", "form")
"""The kinds of questions with words of the model, of a tool or of a server."""
ENDED_BY_HOOKLINE = ("max_iterations", "stopped")
"""How turns end whose last paragraph is Hookline's."""
TRANSLATED_EVENTS = ("answered", "error", "notice", "question", "result", "setting")
"""The types of events with a text that Hookline has written."""
NAMING_EVENTS = ("answered", "question")
"""Those that name people, also in English."""


def translated_question(question: Mapping[str, Any]) -> dict[str, Any]:
    """Return a question, as JSON, in the reader's language, with the names of its asker and chat;
    what the model wrote stays."""
    names = {f"{one}_name": plain_name(question[one]) for one in ("asker", "chat")}
    if question["kind"] in WRITTEN_ELSEWHERE:
        return {**question, **names}
    text, reason = str(question["text"]), str(question["reason"])
    parts = text.partition(reason) if reason else (text,)
    choices = [{**one, "label": translate(one["label"])} for one in question["choices"]]
    text = "".join(map(_translate_inside, parts))
    return {**question, "text": text, "reason": translate(reason), "choices": choices, **names}


def translated_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a question was closed, with the ``label`` of the choice and the name of who chose
    it for the reader."""
    choice = str(answer["choice"] or "")
    is_known = answer["kind"] not in WRITTEN_ELSEWHERE
    label = translate(choice) if is_known else choice
    return {**answer, "label": label, "by_name": plain_name(answer["by"] or "")}


def translated_ending(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with what Hookline says at the end of a turn that was cut short."""
    blocks = [*message["blocks"]]
    if message.get("stop") in ENDED_BY_HOOKLINE and blocks and blocks[-1]["type"] == "text":
        said, gap, ending = blocks[-1]["text"].rpartition("\n\n")
        blocks[-1] = {**blocks[-1], "text": f"{said}{gap}{translate(ending)}"}
    changed = {"error": translate(message["error"])} if message.get("error") else {}
    return {**message, "blocks": blocks, **changed}


def _translate_inside(text: str) -> str:
    return text.replace(text.strip(), translate(text.strip())) if text.strip() else text


def translated_event(data: bytes) -> bytes:
    """Return an encoded event of the stream in the reader's language."""
    head, mark, body = data.partition(b"data: ")
    event = json.loads(body)
    if event["type"] == "question":
        event = translated_question(event)
    elif event["type"] == "answered":
        event = translated_answer(event)
    elif event["type"] != "result" or event["stop"] == "command":
        event["text"] = translate(event["text"])
    if messages := event.get("messages"):
        event["messages"] = [translated_ending(one) for one in messages]
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return b"".join((head, mark, text.encode("utf-8", "backslashreplace"), b"\n\n"))


def switch_language(request: RequestLike, chosen: str) -> Response | None:
    """Return a response that loads the page again in the language that the person has chosen, and
    remembers it in the browser; None if the browser knows it already."""
    scope = request.scope
    headers = dict(scope.get("headers", ()))
    known = chosen_language(headers.get(b"cookie", b"").decode("latin-1"))
    path = bytes(scope.get("raw_path", b"")).decode("ascii", "replace")
    is_page = scope.get("method") == "GET" and path.startswith("/") and not path.startswith("//")
    if not is_page or known == chosen:
        return None
    query = bytes(scope.get("query_string", b"")).decode("ascii", "replace")
    where = f"{path}?{query}" if query else path
    again = Response(status_code=303, headers={"Location": where, "Cache-Control": "no-store"})
    if chosen:
        again.set_cookie(COOKIE, chosen, max_age=YEAR, samesite="strict")
    else:
        again.delete_cookie(COOKIE, samesite="strict")
    return again


def jinja_functions() -> Mapping[str, Callable[..., Any]]:
    """Return ``t`` and ``tn`` for templates: values that are markup stay so."""
    return {"t": _t, "tn": _tn}


def _t(sentence: str, /, **values: Any) -> Markup:
    return _filled(language().sentence(sentence), values)


def _tn(one: str, many: str, n: int, /, **values: Any) -> Markup:
    return _filled(language().plural_sentence(one, many, n), {"n": n, **values})


def _filled(sentence: str, values: Mapping[str, Any]) -> Markup:
    """Return a translated sentence, escaped, with its values, which may be markup."""
    return escape(sentence).format(**language().values(values)) if values else escape(sentence)
