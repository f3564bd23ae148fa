"""The Web API of the fake workspace."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aiohttp import web

from . import fake_rules as rules
from .fake_rules import ApiError

if TYPE_CHECKING:
    from .fake_slack import Fault, Room, Slack

LOGIN = "<!DOCTYPE html><html><head><title>Slack</title></head><body>Sign in</body></html>"
STREAM_SECONDS = 306.0
_THREAD = re.compile(r"\d+\.\d{6}")
Params = dict[str, Any]


class Methods:
    """Handlers; all of them run in the server's thread."""

    def __init__(self, slack: Slack) -> None:
        self.slack = slack
        self._spent: dict[str, list[float]] = {}
        self._told: dict[str, float] = {}

    # HTTP

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """A method of the Web API."""
        from .fake_slack import Call

        method = request.match_info["method"]
        params = await self._params(request)
        status, body, error, more = 200, {}, "", {}
        fault = self._fault(method)
        kind = fault.kind if fault is not None else ""
        try:
            if kind == "hang up":
                status, error = 0, kind
            elif kind == "silent":
                status, error = 0, kind
                await asyncio.sleep(3600)
            elif kind in ("500", "502"):
                status, error = int(kind), kind
            elif kind == "429":
                raise ApiError("ratelimited", 429, fault.seconds if fault else 1)
            elif kind not in ("", "drop", "garbage"):
                raise ApiError(kind)
            else:
                body = self._do(request, method, params)
                status, error = (0, "drop") if kind == "drop" else (200, "")
        except ApiError as refused:
            status, body, error = refused.status, refused.body, str(refused)
            more = {"Retry-After": str(refused.wait)} if refused.wait else {}
        finally:
            with self.slack.lock:
                self.slack.calls.append(Call(method, params, status, error, self.slack.now()))
                self.slack.changed()
        if status == 0:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if status >= 500 or kind == "garbage":
            return web.Response(status=status, text="<html>oops</html>", content_type="text/html")
        head = {
            "x-oauth-scopes": ",".join(sorted(self.slack.granted)),
            "x-slack-req-id": "1",
            **more,
        }
        return web.json_response(body, status=status, headers=head)

    async def _params(self, request: web.Request) -> Params:
        found: Params = dict(request.query)
        if request.content_type == "application/json":
            found |= await request.json()
        elif request.can_read_body:
            found |= {k: v for k, v in (await request.post()).items() if isinstance(v, str)}
        return found

    def _fault(self, method: str) -> Fault | None:
        with self.slack.lock:
            for fault in self.slack.faults:
                if fault.method in ("", method):
                    if fault.times is not None:
                        fault.times -= 1
                        if fault.times <= 0:
                            self.slack.faults.remove(fault)
                    return fault
        return None

    def _do(self, request: web.Request, method: str, params: Params) -> dict[str, Any]:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or not token:
            raise ApiError("not_authed")
        kind = self.slack.tokens.get(token)
        if kind is None:
            raise ApiError("invalid_auth")
        if kind in ("token_expired", "token_revoked", "account_inactive"):
            raise ApiError(kind)
        if (kind == "app") != method.startswith("apps."):
            raise ApiError("not_allowed_token_type")
        handler: Callable[[Params], dict[str, Any]] | None
        handler = getattr(self, "_" + method.replace(".", "_").lower(), None)
        if handler is None:
            raise ApiError("unknown_method")
        if kind == "bot":
            have = self.slack.granted
            missing = [s for s in rules.scopes_for(method, params) if s not in have]
            if missing:
                given = ",".join(sorted(have))
                raise ApiError("missing_scope", needed=",".join(missing), provided=given)
        self._pace(method, params)
        with self.slack.lock:
            done = handler(params)
            self.slack.changed()
        return {"ok": True, **done}

    def _pace(self, method: str, params: Params) -> None:
        """429 beyond the tier; a request before its time is a violation."""
        if not self.slack.paced:
            return
        most, span = rules.TIERS.get(method, 100), 60.0
        key = method
        if method == "chat.postMessage":
            most, span, key = 5, 5.0, f"{method} {params.get('channel')}"
        now = self.slack.now()
        if self._told.get(key, 0) > now:
            self.slack.violations += 1
            raise ApiError("ratelimited", 429, max(1, int(self._told[key] - now)))
        recent = self._spent[key] = [at for at in self._spent.get(key, []) if at > now - span]
        if len(recent) >= most:
            wait = max(1, round(recent[0] + span - now))
            self._told[key] = now + wait - 0.5
            raise ApiError("ratelimited", 429, wait)
        recent.append(now)

    # Who, where

    def _auth_test(self, params: Params) -> dict[str, Any]:
        return {
            "url": "https://team.slack.com/",
            "team": "Team <& Co>",
            "user": "hookline",
            "team_id": "T0TEAM",
            "user_id": "U0BOT",
            "bot_id": "B0BOT",
            "is_enterprise_install": False,
        }

    def _apps_connections_open(self, params: Params) -> dict[str, Any]:
        return {"url": self.slack.sockets.ticket()}

    def _users_info(self, params: Params) -> dict[str, Any]:
        if params.get("user") not in self.slack.people:
            raise ApiError("user_not_found")
        return {"user": self.slack.people[params["user"]]}

    def _conversations_open(self, params: Params) -> dict[str, Any]:
        user = str(params.get("users", ""))
        if user not in self.slack.people:
            raise ApiError("user_not_found")
        rooms = [one for one in self.slack.rooms.values() if one.id[0] == "D" and one.is_member]
        found = [one.id for one in rooms if user in one.people]
        room = found[0] if found else self.slack.room("D" + user[1:], user).id
        return {"channel": {"id": room}}

    def _users_conversations(self, params: Params) -> dict[str, Any]:
        words = {"C": "public_channel", "G": "private_channel", "D": "im", "M": "mpim"}
        types = str(params.get("types") or "public_channel").replace(" ", "").split(",")
        rooms = [r for r in self.slack.rooms.values() if r.is_member and words[r.id[0]] in types]
        if str(params.get("exclude_archived", "")).lower() in ("1", "true"):
            rooms = [r for r in rooms if not r.is_archived]
        shown = [{"id": r.id, "is_im": r.id[0] == "D", "is_archived": r.is_archived} for r in rooms]
        page, cursor = self._page(shown, params, 100, 999)
        return {"channels": page, "response_metadata": {"next_cursor": cursor}}

    def _page(
        self, items: list[Any], params: Params, usual: int, most: int
    ) -> tuple[list[Any], str]:
        """Some of the items, and where the next begin; less than was asked for, as Slack does."""
        limit = int(params.get("limit") or usual)
        if not 1 <= limit <= most:
            raise ApiError("invalid_limit")
        cursor = str(params.get("cursor") or "at:0")
        if not re.fullmatch(r"at:\d+", cursor):
            raise ApiError("invalid_cursor")
        start = int(cursor[3:])
        end = start + limit
        return items[start:end], f"at:{end}" if end < len(items) else ""

    def _where(self, params: Params, name: str = "channel") -> Room:
        room = self.slack.rooms.get(str(params.get(name)))
        if room is None:
            raise ApiError("channel_not_found")
        return room

    def _writable(self, params: Params, name: str = "channel") -> Room:
        room = self._where(params, name)
        if room.is_archived:
            raise ApiError("is_archived")
        if not room.is_member:
            raise ApiError("not_in_channel")
        return room

    # History

    def _conversations_history(self, params: Params) -> dict[str, Any]:
        room = self._where(params)
        if not room.is_member:
            raise ApiError("not_in_channel")
        found = [m for m in room.messages.values() if m.get("thread_ts", m["ts"]) == m["ts"]]
        return self._slice(sorted(found, key=lambda m: m["ts"], reverse=True), params, 100)

    def _conversations_replies(self, params: Params) -> dict[str, Any]:
        room = self._where(params)
        root = str(params.get("ts"))
        if root not in room.messages:
            raise ApiError("thread_not_found")
        found = [
            m for m in room.messages.values() if m.get("thread_ts") == root and m["ts"] != root
        ]
        answer = self._slice(sorted(found, key=lambda m: m["ts"]), params, 1000)
        if not params.get("cursor"):  # the parent comes first, whatever is asked for
            parent = self._shown(room.messages[root], params)
            answer["messages"] = [parent, *answer["messages"]]
        return answer

    def _slice(self, found: list[Params], params: Params, usual: int) -> dict[str, Any]:
        oldest, latest = str(params.get("oldest") or "0"), str(params.get("latest") or "9e12")
        inclusive = str(params.get("inclusive", "")).lower() in ("1", "true")

        def inside(ts: str) -> bool:
            at, low, high = float(ts), float(oldest), float(latest)
            return low <= at <= high if inclusive else low < at < high

        found = [m for m in found if inside(m["ts"])]
        page, cursor = self._page(found, params, usual, max(usual, 999))
        shown = [self._shown(m, params) for m in page]
        more = {"response_metadata": {"next_cursor": cursor}} if cursor else {}
        return {"messages": shown, "has_more": bool(cursor), **more}

    @staticmethod
    def _shown(message: Params, params: Params) -> Params:
        whole = str(params.get("include_all_metadata", "")).lower() in ("1", "true")
        hidden = ("metadata",) if not whole else ()
        return {k: v for k, v in message.items() if k not in hidden}

    # Writing

    def _chat_postmessage(self, params: Params) -> dict[str, Any]:
        room = self._writable(params)
        text, blocks = rules.checked_text(params), rules.checked_blocks(params)
        metadata = rules.checked_metadata(params)
        if not text and not blocks:
            raise ApiError("no_text")
        message = self._message(room, text, blocks, params)
        if metadata is not None:
            message["metadata"] = metadata
        return {"channel": room.id, "ts": message["ts"], "message": message}

    def _message(self, room: Room, text: str, blocks: Any, params: Params) -> Params:
        ts = self.slack.next_ts()
        message: Params = {"type": "message", "user": "U0BOT", "bot_id": "B0BOT", "text": text}
        message |= {"ts": ts, "app_id": "A0HOOK", "team": "T0TEAM"}
        if blocks:
            message["blocks"] = [{"block_id": f"b{n}", **one} for n, one in enumerate(blocks)]
        root = params.get("thread_ts")
        if root is not None:
            if not _THREAD.fullmatch(str(root)) or root not in room.messages:
                raise ApiError("thread_not_found")
            if room.messages[root].get("thread_ts", root) != root:
                raise ApiError("cannot_reply_to_message")
            message["thread_ts"] = root
            self.slack.status.pop((room.id, root), None)
        self._look(message, params)
        self.slack.keep(room, message)
        if self.slack.echoes:
            self.slack.tell(room, message)
        return message

    def _look(self, message: Params, params: Params) -> None:
        texts = [message["text"], *[b.get("text") for b in message.get("blocks", [])]]
        words = "\n".join(t if isinstance(t, str) else (t or {}).get("text", "") for t in texts)
        off = params.get("unfurl_links") is False and params.get("unfurl_media") is False
        self.slack.look(words, not off)

    def _own(self, params: Params) -> tuple[Room, Params]:
        room = self._writable(params)
        message = room.messages.get(str(params.get("ts")))
        if message is None:
            raise ApiError("message_not_found")
        if message.get("user") != "U0BOT":
            raise ApiError("cant_update_message")
        return room, message

    def _chat_update(self, params: Params) -> dict[str, Any]:
        room, message = self._own(params)
        self._not_streaming(message)
        text, blocks = rules.checked_text(params), rules.checked_blocks(params)
        metadata = rules.checked_metadata(params)
        before = dict(message)
        if not text and not blocks:
            raise ApiError("no_text")
        if blocks is None:  # a new text alone takes the blocks away, and shows as edited
            message.pop("blocks", None)
            message["edited"] = {"user": "U0BOT", "ts": self.slack.next_ts()}
        else:
            message["blocks"] = [{"block_id": f"b{n}", **one} for n, one in enumerate(blocks)]
        message["text"] = text
        if metadata is not None:
            message["metadata"] = metadata
        self._look(message, {"unfurl_links": False, "unfurl_media": False})
        if self.slack.echoes:
            self.slack.tell_change(room.id, message, before)
        return {"channel": room.id, "ts": message["ts"], "text": text}

    def _chat_delete(self, params: Params) -> dict[str, Any]:
        room, message = self._own(params)
        self._not_streaming(message)
        del room.messages[message["ts"]]
        return {"channel": room.id, "ts": message["ts"]}

    # Streams

    def _chat_startstream(self, params: Params) -> dict[str, Any]:
        from .fake_slack import Stream

        room = self._writable(params)
        if not params.get("thread_ts"):
            raise ApiError("invalid_arguments")
        if room.id[0] != "D" and not (
            params.get("recipient_user_id") and params.get("recipient_team_id")
        ):
            raise ApiError("missing_recipient_user_id")
        text = self._streamed("", params)
        message = self._message(room, text, None, params)
        self.slack.streams[message["ts"]] = Stream(room.id, self.slack.now())
        return {"channel": room.id, "ts": message["ts"]}

    def _chat_appendstream(self, params: Params) -> dict[str, Any]:
        _, message = self._running(params)
        message["text"] = self._streamed(message["text"], params)
        return {"channel": params["channel"], "ts": message["ts"]}

    def _chat_stopstream(self, params: Params) -> dict[str, Any]:
        room, message = self._running(params)
        message["text"] = self._streamed(message["text"], params)
        blocks = rules.checked_blocks(params)
        if blocks:
            message["blocks"] = [{"type": "markdown", "text": message["text"]}, *blocks]
        metadata = rules.checked_metadata(params)
        if metadata is not None:
            message["metadata"] = metadata
        self.slack.streams[message["ts"]].is_open = False
        return {"channel": room.id, "ts": message["ts"], "message": message}

    def _running(self, params: Params) -> tuple[Room, Params]:
        room, message = self._own(params)
        stream = self.slack.streams.get(message["ts"])
        if stream is not None and self.slack.now() - stream.began > STREAM_SECONDS:
            stream.is_open = False
        if stream is None or not stream.is_open:
            raise ApiError("message_not_in_streaming_state")
        return room, message

    def _not_streaming(self, message: Params) -> None:
        stream = self.slack.streams.get(message["ts"])
        if stream is not None and stream.is_open:
            raise ApiError("streaming_state_conflict")

    def _streamed(self, before: str, params: Params) -> str:
        text = before + str(params.get("markdown_text") or "")
        if len(text) > rules.MARKDOWN:
            raise ApiError("msg_too_long")
        return text

    # Presence, reactions

    def _assistant_threads_setstatus(self, params: Params) -> dict[str, Any]:
        room = self._writable(params, "channel_id")
        if str(params.get("thread_ts")) not in room.messages:
            raise ApiError("invalid_thread_ts")
        self.slack.status[room.id, params["thread_ts"]] = str(params.get("status", ""))
        return {}

    def _reactions_add(self, params: Params) -> dict[str, Any]:
        return self._reaction(params, there=False)

    def _reactions_remove(self, params: Params) -> dict[str, Any]:
        return self._reaction(params, there=True)

    def _reaction(self, params: Params, *, there: bool) -> dict[str, Any]:
        room = self._where(params)
        name, ts = str(params.get("name")), str(params.get("timestamp"))
        if ts not in room.messages:
            raise ApiError("message_not_found")
        if not re.fullmatch(r"[a-z0-9_+'-]+(::skin-tone-[2-6])?", name):
            raise ApiError("invalid_name")
        found = self.slack.reactions.setdefault((room.id, ts), set())
        if (name in found) != there:
            raise ApiError("no_reaction" if there else "already_reacted")
        (found.discard if there else found.add)(name)
        return {}

    # Files

    def _files_getuploadurlexternal(self, params: Params) -> dict[str, Any]:
        length = int(params.get("length") or 0)
        if not params.get("filename") or length <= 0:
            raise ApiError("invalid_arguments")
        if length > self.slack.upload_limit:
            raise ApiError("file_upload_size_restricted")
        id_ = self.slack.file(b"", str(params["filename"]), "application/octet-stream", size=length)
        self.slack.uploads[id_] = "asked"
        url = f"http://127.0.0.1:{self.slack.port}/upload/{id_}"
        return {"upload_url": url, "file_id": id_}

    async def upload(self, request: web.Request) -> web.Response:
        """The second step; the address is its own permission."""
        id_ = request.match_info["file"]
        fault = self._fault("upload")
        if fault is not None and fault.kind in ("500", "502"):
            return web.Response(status=int(fault.kind), text="oops")
        data = await request.read()
        if request.content_type.startswith("multipart/"):
            raise web.HTTPBadRequest(text="bytes alone, please")
        if self.slack.uploads.get(id_) != "asked" or len(data) != self.slack.files[id_]["size"]:
            return web.Response(status=400, text="not that file")
        self.slack.data[id_] = data
        self.slack.uploads[id_] = "there"
        return web.Response(text=f"OK - {len(data)}")

    def _files_completeuploadexternal(self, params: Params) -> dict[str, Any]:
        files = params.get("files")
        asked = json.loads(files) if isinstance(files, str) else files
        if not asked:
            raise ApiError("invalid_arguments")
        for one in asked:
            if self.slack.uploads.get(one.get("id")) != "there":
                raise ApiError("file_not_found")
        room = self._writable(params, "channel_id") if params.get("channel_id") else None
        ids = [str(one["id"]) for one in asked]
        for one in asked:
            self.slack.uploads[one["id"]] = "done"
            self.slack.files[one["id"]]["title"] = one.get("title") or "x"
        if room is not None and self.slack.never_shared > 0:
            self.slack.never_shared -= 1
        elif room is not None:
            later = self.slack.share_seconds
            self.slack.loop.call_later(later, self._share, room, ids, params)
        return {"files": [{"id": one, "title": self.slack.files[one]["title"]} for one in ids]}

    def _share(self, room: Room, ids: list[str], params: Params) -> None:
        with self.slack.lock:
            text = str(params.get("initial_comment") or "")
            more = {k: v for k, v in params.items() if k == "thread_ts" and v}
            off = {"unfurl_links": False, "unfurl_media": False}
            message = self._message(room, text, None, more | off)
            files = [self.slack.files[one] for one in ids]
            message |= {"files": files, "subtype": "file_share", "upload": True}
            where = "private" if room.id[0] != "C" else "public"
            for one in files:
                share = {"ts": message["ts"], "thread_ts": message.get("thread_ts")}
                one.setdefault("shares", {}).setdefault(where, {})[room.id] = [share]
            self.slack.changed()

    def _files_info(self, params: Params) -> dict[str, Any]:
        file = self.slack.files.get(str(params.get("file")))
        if file is None:
            raise ApiError("file_not_found")
        whole = {k: v for k, v in file.items() if k != "file_access"}
        return {"file": whole}

    async def respond(self, request: web.Request) -> web.Response:
        """What a person alone is shown for a command of theirs."""
        body = await request.json()
        if body.get("response_type") != "ephemeral" or not isinstance(body.get("text"), str):
            return web.Response(status=400, text="invalid_payload")
        place = request.match_info["channel"], request.match_info["user"]
        self.slack.whispers.append((*place, body["text"]))
        self.slack.changed()
        return web.Response(text="ok")

    async def download(self, request: web.Request) -> web.Response:
        """A file's bytes; without the right token a page that asks to sign in, under 200."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        is_known = scheme == "Bearer" and self.slack.tokens.get(token) == "bot"
        if not is_known or "files:read" not in self.slack.granted:
            return web.Response(text=LOGIN, content_type="text/html")
        fault = self._fault("download")
        if fault is not None and fault.kind in ("500", "502"):
            return web.Response(status=int(fault.kind), text="oops")
        id_ = request.match_info["file"]
        if id_ not in self.slack.data:
            return web.Response(status=404)
        mime = self.slack.files[id_]["mimetype"]
        return web.Response(body=self.slack.data[id_], content_type=mime)
