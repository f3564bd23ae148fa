"""Reads stored sessions in the form of the page's API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hookline_hookspecs import Host, Reply
from hookline_hookspecs.web import Identity, Problem, t, translate

from .files import Files
from .live_turns import LiveTurns
from .page_language import translated_answer, translated_ending, translated_question
from .questions import PageQuestions, question_json
from .session_names import first_words, person_text
from .session_owner import CHANNEL, chat_of, conversation, is_mine, is_uuid, may_see, visible
from .version_tree import versions_of

ASIDE_RETENTION_SECONDS = 7 * 86400.0
"""Seconds for which core keeps commands and their answers."""
MAX_ASIDES = 200
"""The newest commands of a session to show with their answers."""
MAX_ENDED_WITH_QUESTION = 50
"""Chats whose last turn ended with a question to show in the inbox, the newest."""
SETTING_PREFIX = "setting-"
"""Begins the message ids of commands that the message box sends."""
PARKED = 2
"""The column ``open_turn`` of a session whose turn waits for an answer; 1 if it runs."""
PAGE_MARGIN = 200
"""Messages before a page in which the beginning of a turn is searched for."""
_NO_ANSWER = "(no answer)"
"""Core's text for the answer of a turn that failed before the model said anything."""
Row = Mapping[str, Any]


class SessionReader:
    """Reads sessions for people, and checks that they may see them."""

    def __init__(self, host: Host, live: LiveTurns, files: Files, questions: PageQuestions) -> None:
        self._storage, self._now = host.storage, host.now
        self._live, self._files, self._questions = live, files, questions

    # Sessions

    async def row(self, who: Identity, session_id: str) -> Row:
        """Return a session's row, if the person may see it. Raises ``Problem`` (404).

        A new chat that is not stored yet has a row, too.
        """
        rows = await self._storage.fetch("session", id=session_id)
        if rows:
            return visible(who, rows[0])
        return visible(who, await self._unstored(who, session_id))

    async def _unstored(self, who: Identity, session_id: str) -> Row | None:
        if not is_uuid(session_id):
            return None
        waiting = await self._storage.fetch("waiting_for", id=session_id)
        channel, chat_id = chat_of(who.name)
        if waiting:
            channel, chat_id = waiting[0]["channel"], waiting[0]["chat_id"]
        elif not await self._asides(chat_id, session_id, 0.0):
            return None
        now = self._now()
        names = ("title", "ended", "successor", "question", "workspace", "root")
        empty = dict.fromkeys((*names, "pinned", "folder", "archived"))
        row = {"id": session_id, "channel": channel, "chat_id": chat_id, "kind": "chat"}
        return {
            **empty,
            **row,
            "open_turn": None,
            "model": "",
            "created": now,
            "updated": now,
            "turns": 0,
            "first_words": "",
            "first_file": "",
        }

    def as_json(self, who: Identity, row: Row) -> dict[str, Any]:
        """Return a session in the form of the page's API."""
        is_open = bool(row["question"]) or self._questions.is_open(row["id"])
        made = {
            "id": row["id"],
            "channel": row["channel"],
            "chat": row["chat_id"],
            "kind": row["kind"],
            "title": row["title"],
            "first_words": first_words(row),
            "model": row["model"],
            "created": row["created"],
            "updated": row["updated"],
            "turns": row["turns"],
            "ended": row["ended"],
            "successor": row["successor"],
            "root": row["root"] or row["id"],
            "pinned": bool(row["pinned"]),
            "folder": row["folder"] or "",
            "archived": bool(row["archived"]),
            "mine": is_mine(who, (row["channel"], row["chat_id"])),
            "state": self.state(row),
            "question": is_open,
        }
        if "found" in row:
            made["found"] = _around(row["found"] or "", "")
        return made

    def state(self, row: Row) -> str:
        """Return ``idle``, ``queued``, ``asking`` or ``running``."""
        session, stored = row["id"], row["open_turn"]
        if stored == PARKED or (stored is None and self._live.state(session) == "asking"):
            self._live.set_parked(session, stored == PARKED)
        return self._live.state(session)

    async def sessions(self, who: Identity, asked: Mapping[str, str]) -> dict[str, Any]:
        """Return a page of the sessions that the person may see."""
        limit = number(asked.get("limit"), 50, 200)
        words = " ".join(asked.get("q", "").split())
        params: dict[str, Any] = {
            "mine": None if who.is_operator else who.name,
            "channel": asked.get("channel") or None,
            "kind": asked.get("kind") or "chat",
            "before": decimal(asked.get("before")),
            "limit": limit,
        }
        archived = {"no": 0, "yes": 1}.get(asked.get("archived", ""))
        places = {"archived": archived, "placed": 1 if asked.get("placed") else None}
        if params["kind"] == "all":
            params["kind"] = None
        if not words:
            rows = await self._storage.fetch("sessions", **params, **places)
        else:
            masked = words.replace("\\", r"\\").replace("%", r"\%").replace("_", r"\_")
            rows = await self._storage.fetch("found", pattern=f"%{masked}%", **params)
        made = [self.as_json(who, row) for row in rows]
        for one, row in zip(made, rows, strict=True):
            if words:
                one["found"] = _around(row["found"] or "", words)
                one["found_seq"] = row["found_seq"]
        following = rows[-1]["updated"] if len(rows) == limit else None
        return {"sessions": made, "next": following}

    # One session

    async def snapshot(
        self, who: Identity, session_id: str, asked: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the end of a session, or the part ``before`` a sequence, with its running turn.

        The cursor is taken first, so that events during the read are sent again.
        """
        live = self._live.snapshot(session_id)
        cursor = self._live.hub.cursor
        row = await self.row(who, session_id)
        before, tail = decimal(asked.get("before")), number(asked.get("tail"), 50, 1000)
        messages, more, since = await self._page(session_id, before, tail)
        is_ours = row["channel"] == CHANNEL
        asides: list[dict[str, Any]] = []
        answers: list[dict[str, Any]] = []
        if is_ours and before is None:
            asides = await self._asides(row["chat_id"], session_id, since)
            answers = await self._answers(session_id, since)
        here = (row["channel"], row["chat_id"])
        questions = await self._questions.of_session(session_id, here, who)
        if row["question"] and not questions:
            last = messages[-1]["turn"] if messages else ""
            questions = [turn_question(row, last, who)]
        if live is not None:
            live["question"] = questions[0] if questions else None
        return {
            "cursor": cursor,
            "session": self.as_json(who, row),
            "messages": [translated_ending(one) for one in messages],
            "more": more,
            "turn": live,
            "queue": await self.queue(session_id) if is_ours else [],
            "question": questions[0] if questions else None,
            "questions": questions,
            "asides": asides,
            "answers": answers,
            "versions": versions_of(await self._storage.fetch("family", id=session_id), session_id),
        }

    async def _page(
        self, session_id: str, before: float | None, tail: int
    ) -> tuple[list[dict[str, Any]], bool, float]:
        """Return the messages of a page, which starts with a turn; whether there are earlier ones;
        and the time from which commands belong to it."""
        limit = tail + PAGE_MARGIN
        params: dict[str, Any] = {"id": session_id, "before": before}
        outline = await self._storage.fetch("outline", **params, limit=limit)
        if not outline:
            return [], False, 0.0
        cut = min(tail, len(outline)) - 1
        while cut + 1 < len(outline) and outline[cut + 1]["turn_id"] == outline[cut]["turn_id"]:
            cut += 1
        more = cut + 1 < len(outline) or len(outline) == limit
        rows = await self._storage.fetch("messages", **params, first=outline[cut]["seq"])
        messages = await self.messages(session_id, rows)
        return messages, more, rows[0]["created"] if more and rows else 0.0

    async def place(self, root: str) -> dict[str, Any]:
        """Return where a chat is in the list, given its first version."""
        rows = await self._storage.fetch("place", id=root)
        return dict(rows[0]) if rows else {"pinned": 0, "folder": "", "archived": 0}

    async def is_last_turn(self, session_id: str, turn: str) -> bool:
        """Return whether no turn of the session began after this one."""
        turns = await self._storage.fetch("turns", id=session_id, number=0)
        return bool(turns) and max(turns, key=lambda row: row["number"])["id"] == turn

    async def queued(self, message_id: str) -> tuple[str, list[str]]:
        """Return the text of a queued message and the paths of its files. Raises ``Problem``."""
        if not await self.is_queued(message_id):
            raise Problem(409, "begun", t("This message is no longer queued."))
        rows = await self._storage.fetch("inbound", message_id=message_id)
        body = json.loads(rows[0]["body"]) if rows else {}
        paths = [str(one.get("path", "")) for one in body.get("attachments", ())]
        return str(body.get("text", "")), paths

    async def is_queued(self, message_id: str) -> bool:
        """Return whether a stored message still waits for its turn."""
        return bool(await self._storage.fetch("queued", message_id=message_id))

    async def parked(self) -> list[str]:
        """Return the sessions whose turns wait for an answer."""
        return [row["session_id"] for row in await self._storage.fetch("parked")]

    async def turn(self, session_id: str, turn: str) -> list[dict[str, Any]]:
        """Return the stored messages of a turn."""
        rows = await self._storage.fetch("turn_messages", id=session_id, turn=turn)
        return await self.messages(session_id, rows)

    async def messages(self, session_id: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return stored messages for JSON, with files, times and results."""
        if not rows:
            return []
        found = await self._storage.fetch("turn", id=rows[0]["turn_id"])
        params: dict[str, Any] = {"id": session_id, "number": found[0]["number"] if found else 0}
        turns = {row["id"]: row for row in await self._storage.fetch("turns", **params)}
        steps = {
            (s["turn_id"], s["call_id"]): s for s in await self._storage.fetch("steps", **params)
        }
        files = await self._files.by_turn(session_id)
        made: list[dict[str, Any]] = []
        parts: dict[str, int] = {}
        for row in rows:
            turn = row["turn_id"]
            body = _body(row)
            blocks = [_block(block, turn, steps) for block in body.get("blocks", ())]
            one = {
                "seq": row["seq"],
                "turn": turn,
                "role": _speaker(row["role"], blocks),
                "created": row["created"],
                "blocks": blocks,
            }
            if one["role"] == "assistant":
                one["part"] = parts.get(turn, 0)
                parts[turn] = one["part"] + 1
                one["files"] = []
            elif one["role"] == "user" and not any(m["turn"] == turn for m in made[-1:]):
                known = turns.get(turn)
                one["message_id"] = known["message_id"] if known else None
                one["files"] = files.get((turn, "in"), [])
                _place(one["blocks"], one["files"])
            made.append(one)
        for turn in parts:
            last = next(one for one in reversed(made) if one["turn"] == turn and "part" in one)
            last["files"] = files.get((turn, "out"), [])
            last["stop"] = turns[turn]["stop"] if turn in turns else ""
            if turn in turns and turns[turn]["error"]:
                _set_error(last, str(turns[turn]["error"]))
        return made

    async def queue(self, session_id: str | None) -> list[dict[str, Any]]:
        """Return the queued messages of a conversation, or of all."""
        named = None if session_id is None else conversation(session_id)
        rows = await self._storage.fetch("waiting", named=named, following=f"{named}~%")
        return [item for row in rows if (item := _waiting(row)) is not None]

    async def _asides(self, chat_id: str, session_id: str, since: float) -> list[dict[str, Any]]:
        named, within = conversation(session_id), self._within(session_id, since)
        found = await self._storage.fetch("asides", chat_id=chat_id, **within)
        made: list[dict[str, Any]] = []
        for row in found:
            body = json.loads(row["body"])
            if body.get("question"):
                continue  # shown as a question, not as a message
            answers = body.get("in_reply_to") or ""
            if answers.startswith(SETTING_PREFIX):
                continue  # the message box shows it
            asked = await self._storage.fetch("inbound", message_id=answers) if answers else []
            session = row["session_id"] or (asked[0]["session_id"] if asked else "") or ""
            if conversation(session) != named:
                continue  # of another conversation, answered before its session was stored
            command = _command(answers, asked[0]) if asked else ""
            is_notice = body.get("kind") == "notice"
            made.append(
                {
                    "id": row["id"],
                    "message_id": None if is_notice else answers,
                    "command": command,
                    "text": translate(str(body.get("text", ""))),
                    "at": row["created"],
                    "stop": "command" if command.startswith("/") or ":" in answers else "denied",
                    "notice": is_notice,
                }
            )
        return made[-MAX_ASIDES:]

    def _within(self, session_id: str, since: float) -> dict[str, Any]:
        named, since = conversation(session_id), max(since, self._now() - ASIDE_RETENTION_SECONDS)
        return {"named": named, "following": f"{named}~%", "since": since}

    async def _answers(self, session_id: str, since: float) -> list[dict[str, Any]]:
        """Return how the closed questions of a conversation ended."""
        within = self._within(session_id, since)
        return [
            translated_answer(
                {
                    "question": row["id"],
                    "kind": row["kind"],
                    "at": row["closed"],
                    "state": row["state"],
                    "choice": row["choice"] or None,
                    "words": row["words"] or "",
                    "by": row["answered_by"] or None,
                }
            )
            for row in await self._storage.fetch("answers", **within, limit=MAX_ASIDES)
        ]

    async def inbox(self, who: Identity, *, whole: str = "") -> list[dict[str, Any]]:
        """Return the open questions that this person may answer, oldest first: those that wait for
        an answer, then those that the last turns of their own chats ended with."""
        asked = await self._storage.fetch("asked", mine=who.name, limit=MAX_ENDED_WITH_QUESTION)
        return await self._questions.inbox(who, whole=whole) + [
            translated_question(turn_question(row, row["turn"], who)) for row in reversed(asked)
        ]

    async def title(self, session_id: str) -> str | None:
        """Return a session's title."""
        rows = await self._storage.fetch("title", id=session_id)
        title: str | None = rows[0]["title"] if rows else None
        return title

    async def asked(self, reply: Reply) -> str | None:
        """Return the message that a reply answers, such as a command; None if there is none."""
        asked = reply.in_reply_to or ""
        rows = await self._storage.fetch("inbound", message_id=asked) if asked else []
        return _command(asked, rows[0]) if rows else None

    async def told_in(self, reply: Reply) -> str:
        """Return the session in which to show a reply that has none.

        It is that of the answered message, or else the person's last conversation; empty if there
        is none.
        """
        chat_id = reply.session.chat_id
        asked = reply.in_reply_to or ""
        rows = await self._storage.fetch("inbound", message_id=asked) if asked else []
        if rows and rows[0]["session_id"]:
            return str(rows[0]["session_id"])
        for query in ("active", "written"):
            rows = await self._storage.fetch(query, channel=CHANNEL, chat_id=chat_id)
            if rows and rows[0]["id"]:
                return str(rows[0]["id"])
        return ""

    def sees(self, who: Identity, row: Row) -> bool:
        """Return whether the person may see a session."""
        return may_see(who, (row["channel"], row["chat_id"]))


def turn_question(row: Row, turn: str, who: Identity) -> dict[str, Any]:
    """Return the question that a session's last turn ended with. Its answer is a message."""
    try:
        stored = json.loads(row["question"])
        choices = [
            str(one["label"]) if isinstance(one, dict) else str(one) for one in stored["choices"]
        ]
        text = str(stored["text"])
    except (ValueError, LookupError, TypeError):
        text, choices = "(The question cannot be read.)", []
    made = question_json(f"{turn}-reply", row["id"], "clarify", text, choices)
    return made | {
        "chat": f"{row['channel']}:{row['chat_id']}",
        "inbox": True,
        "ends_turn": True,
        "root": row["root"] or row["id"],
        "updated": row["updated"],
        "may_answer": is_mine(who, (row["channel"], row["chat_id"])),
    }


def _command(message_id: str, row: Row) -> str:
    """Return the text of a message; for one of a plugin, such as ``schedule:ID``, its name."""
    by, colon, _ = message_id.partition(":")
    return by if colon else str(json.loads(row["body"]).get("text", ""))


def number(text: str | None, default: int, most: int) -> int:
    """Return a count from a query, within its bounds."""
    if text is None or not (text.isascii() and text.isdecimal()):
        return default
    return max(1, min(int(text[:9]), most))


def decimal(text: str | None) -> float | None:
    """Return a number from a query, or None."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _around(text: str, words: str, chars: int = 80) -> str:
    """Return the text around the first match of ``words``, on one line."""
    at = max(0, text.casefold().find(words.casefold()))
    start, stop = max(0, at - chars), at + len(words) + chars
    shown = " ".join(text[start:stop].split())
    return f"{'…' if start else ''}{shown}{'…' if stop < len(text) else ''}"


def _body(row: Row) -> Mapping[str, Any]:
    try:
        body = json.loads(row["body"])
        if isinstance(body["blocks"], list):
            found: Mapping[str, Any] = body
            return found
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    lost = {"type": "text", "text": "(This message is damaged and cannot be shown.)"}
    return {"role": row["role"], "blocks": [lost]}


def _speaker(role: str, blocks: Iterable[Mapping[str, Any]]) -> str:
    if role == "assistant":
        return role
    return "tool" if any(block["type"] == "tool_result" for block in blocks) else "user"


def _set_error(message: dict[str, Any], error: str) -> None:
    """Set why the turn failed, beside what the model said until then."""
    message["error"] = error
    blocks = message["blocks"]
    for block in blocks:
        if block["type"] == "text":  # older answers end with the error
            block["text"] = block["text"].removesuffix(error).rstrip()
    message["blocks"] = [
        block
        for block in blocks
        if block["type"] != "text" or block["text"] not in ("", _NO_ANSWER)
    ]


def _block(block: Any, turn: str, steps: Mapping[tuple[str, str], Row]) -> dict[str, Any]:
    """Return a block for the page, without image data and signatures."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    match kind:
        case "text" | "thinking":
            return {"type": kind, "text": str(block.get("text", ""))}
        case "image":
            return {"type": "image", "mime": str(block.get("mime", "")), "file": None}
        case "tool_call":
            return {
                "type": "tool_call",
                "id": block.get("id"),
                "name": block.get("name"),
                "arguments": block.get("arguments", {}),
            }
        case "tool_result":
            call = str(block.get("call_id", ""))
            step = steps.get((turn, call))
            return {
                "type": "tool_result",
                "id": call,
                "ok": bool(block.get("ok", True)),
                "text": str(block.get("text", "")),
                "seconds": step["seconds"] if step else None,
            }
    return {"type": "text", "text": f"({kind})"}


def _place(blocks: list[dict[str, Any]], files: Sequence[Mapping[str, Any]]) -> None:
    """Set the files of images, and remove core's notes about files."""
    pictures = iter([file["id"] for file in files if file["kind"] == "image"])
    for block in blocks:
        if block["type"] == "image":
            block["file"] = next(pictures, None)
        elif block["type"] == "text" and files:
            block["text"] = person_text(block["text"])


def _waiting(row: Row) -> dict[str, Any] | None:
    if str(row["message_id"]).startswith(SETTING_PREFIX):
        return None
    try:
        body = json.loads(row["body"])
        files = [str(one.get("name") or "voice") for one in body.get("attachments", ())]
        text = str(body.get("text", ""))
    except (ValueError, AttributeError):
        return None
    item = {"message_id": row["message_id"], "text": text, "files": files, "at": row["received"]}
    return item | {"session": row["session_id"], "chat": row["chat_id"]}
