"""The side of the fake that pushes: WebSocket connections, events, and pushes again.

As the service does it: an event goes to one of the connections; an answer that says 200 within 3 s
ends it, anything else (none, a late one, another code) is a push again after 15 s, 5 min, 1 h and
6 h, with the same ``event_id``. Long payloads come in several frames. Time is a test clock's.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from websockets.exceptions import InvalidHandshake, InvalidState
from websockets.frames import Opcode
from websockets.server import ServerProtocol

from .frames import CONTROL, DATA, Frame, decode, encode

AGAIN = (15.0, 300.0, 3600.0, 21600.0)
"""Seconds after the first push at which it is made again."""
ANSWER = 3.0
"""Seconds for an answer."""


class Clock:
    """Unix time that a test can move forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


@dataclass(slots=True)
class Push:
    """An event on its way. ``answers`` are the codes that came, ``data`` what the last held."""

    event_id: str
    kind: str
    payload: bytes
    first: float
    due: float
    tries: int = 0
    sent: float = 0.0
    answers: list[int] = field(default_factory=list)
    late: int = 0
    data: Any = None
    is_done: bool = False
    again: tuple[float, ...] = AGAIN


class Line:
    """One connection, driven by hand: it can fall silent or break."""

    def __init__(self, owner: LongConnections, sock: socket.socket) -> None:
        self.owner, self.sock = owner, sock
        self.protocol = ServerProtocol()
        self.is_open = False
        self.is_half_open = False
        self.pings = 0
        self._lock = threading.Lock()
        threading.Thread(target=self._run, daemon=True).start()

    def send(self, frame: Frame) -> None:
        with self._lock, contextlib.suppress(InvalidState):  # it is closing: the frame is lost
            self.protocol.send_binary(encode(frame))
        self._flush()

    def close(self) -> None:
        """Close without a close frame."""
        self.is_open = False
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()

    def _flush(self) -> None:
        if self.is_half_open:
            return
        with self._lock, contextlib.suppress(OSError):
            for data in self.protocol.data_to_send():
                if data:
                    self.sock.sendall(data)
                else:  # both sides have said that it is over
                    self.sock.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        try:
            while data := self.sock.recv(1 << 16):
                if self.is_half_open:
                    continue
                with self._lock:
                    self.protocol.receive_data(data)
                    events = self.protocol.events_received()
                for event in events:
                    self._event(event)
                self._flush()
        except OSError:
            pass
        finally:
            self.is_open = False
            self.owner.forget(self)

    def _event(self, event: Any) -> None:
        if hasattr(event, "path"):
            refused = self.owner.refusal(event.path)
            with self._lock:
                response = self.protocol.accept(event)
                if refused:
                    response = self.protocol.reject(403, "")
                    for key, value in refused.items():
                        response.headers[key] = value
                elif isinstance(response, InvalidHandshake):
                    raise OSError
                self.protocol.send_response(response)
            self._flush()
            if not refused:
                self.is_open = True
                self.owner.joined(self)
        elif event.opcode is Opcode.BINARY:
            try:
                frame = decode(bytes(event.data))
            except (ValueError, IndexError, KeyError) as error:
                self.owner.broken.append(str(error))
                self.close()
                return
            if frame.method == CONTROL:
                self._control(frame)
            else:
                self.owner.answered(frame)

    def _control(self, frame: Frame) -> None:
        self.pings += 1
        if frame.header("type") != "ping":
            self.owner.broken.append(f"a control frame {frame.headers}")
        elif not self.owner.is_mute:
            config = json.dumps(self.owner.client_config).encode()
            self.send(Frame(CONTROL, [("type", "pong")], config))


class LongConnections:
    """The WebSocket server. ``split`` is the most bytes of a payload in one frame."""

    def __init__(self, clock: Clock, split: int = 4000) -> None:
        self.clock, self.split = clock, split
        self.lines: list[Line] = []
        self.pushes: dict[str, Push] = {}
        self.tickets: set[str] = set()
        self.broken: list[str] = []
        """What a client wrote that the service could not read."""
        self.is_mute = False
        """Connections stay, and nothing comes through them, not even pongs."""
        self.is_shut = False
        """No new connection is accepted."""
        self.most = 50
        self.again = AGAIN
        self.client_config = {
            "ReconnectCount": -1, "ReconnectInterval": 120, "ReconnectNonce": 30,
            "PingInterval": 120,
        }  # fmt: skip
        self._turn = 0
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._is_closed = False
        for work in (self._accept, self._tick):
            threading.Thread(target=work, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def ticket(self) -> str:
        """An address for one connection."""
        made = uuid4().hex
        self.tickets.add(made)
        query = f"device_id={made[:8]}&service_id=33554678&access_key=x&ticket={made}"
        return f"ws://127.0.0.1:{self.port}/ws/v2?{query}"

    def refusal(self, path: str) -> dict[str, str]:
        """Headers that tell why a connection is refused; a ticket is good for one."""
        query = parse_qs(urlsplit(path).query)
        ticket = query.get("ticket", [""])[0]
        if self.is_shut or ticket not in self.tickets:
            return {"handshake-status": "403", "handshake-msg": "ticket is invalid"}
        self.tickets.discard(ticket)
        if len(self.lines) >= self.most:
            return {
                "handshake-status": "514", "handshake-msg": "exceed conn limit",
                "handshake-autherrcode": "1000040350",
            }  # fmt: skip
        return {}

    def joined(self, line: Line) -> None:
        with self._lock:
            self.lines.append(line)

    def forget(self, line: Line) -> None:
        with self._lock:
            if line in self.lines:
                self.lines.remove(line)
        line.sock.close()

    def push(
        self, event_id: str, body: dict[str, Any], kind: str = "event", *, once: bool = False
    ) -> Push:
        """Push an event, or a callback, which is pushed ``once``; ``kind`` is the frame's."""
        now = self.clock.now()
        data = json.dumps(body, ensure_ascii=False).encode()
        made = Push(event_id, kind, data, now, now, again=() if once else self.again)
        with self._lock:
            self.pushes[event_id] = made
        self._wake.set()
        return made

    def repeat(self, push: Push) -> None:
        """Push it once more although it was answered."""
        with self._lock:
            self._send(push)

    def drop(self) -> None:
        """Hang up every connection."""
        for line in list(self.lines):
            line.close()

    def half_open(self) -> None:
        """Every connection becomes half-open: nothing is read or written any more."""
        for line in list(self.lines):
            line.is_half_open = True

    def close(self) -> None:
        self._is_closed = True
        self._listener.close()
        self.drop()
        self._wake.set()

    # Threads

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                Line(self, self._listener.accept()[0])

    def _tick(self) -> None:
        while not self._is_closed:
            with self._lock:
                now = self.clock.now()
                waiting = [push for push in self.pushes.values() if not push.is_done]
                for push in waiting:
                    if now >= push.due:
                        self._send(push)
                        later = push.again[push.tries - 1 :]
                        push.due = push.first + later[0] if later else float("inf")
                        push.is_done = not later
            self._wake.wait(0.02 if waiting else 1.0)
            self._wake.clear()

    def _send(self, push: Push) -> None:
        push.tries += 1
        push.sent = self.clock.now()
        lines = [line for line in self.lines if line.is_open]
        if not lines or self.is_mute:
            return
        self._turn += 1
        line = lines[self._turn % len(lines)]
        size = self.split
        parts = [push.payload[at : at + size] for at in range(0, len(push.payload), size)]
        for number, part in enumerate(parts):
            headers = {
                "biz_rt": "0", "message_id": f"{push.event_id}-{push.tries}",
                "seq": str(number), "sum": str(len(parts)), "trace_id": uuid4().hex,
                "type": push.kind, "timestamp": str(int(self.clock.now() * 1000)),
            }  # fmt: skip
            line.send(Frame(DATA, list(headers.items()), part))

    def answered(self, frame: Frame) -> None:
        """A client has answered a push."""
        event_id = frame.header("message_id").rpartition("-")[0]
        with self._lock:
            push = self.pushes.get(event_id)
            if push is None:
                self.broken.append(f"an answer to nothing: {frame.headers}")
                return
            body = json.loads(frame.payload)
            push.answers.append(int(body["code"]))
            if self.clock.now() - push.sent > ANSWER:
                push.late += 1
            elif body["code"] == 200:
                push.is_done = True
                data = body.get("data")
                push.data = json.loads(base64.b64decode(data)) if data else None
