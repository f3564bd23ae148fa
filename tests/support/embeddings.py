"""A server with ``/embeddings`` on loopback whose vectors know a few meanings.

Texts that hold words of one meaning are near each other, all others are about as far apart as
random directions are.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .serving import serving

MEANINGS = {
    "dog": {"dog", "pet", "hound", "hund"},
    "wife": {"wife", "spouse", "married", "frau"},
    "car": {"car", "vehicle", "auto", "drive"},
    "deploy": {"deploy", "rollout", "ship", "ausrollen"},
    "bread": {"bread", "sourdough", "loaf", "brot"},
}
SIZE = 48


def direction(word: str, size: int) -> list[float]:
    """A vector of length 1 that is always the same for a word."""
    chance = random.Random(hashlib.sha256(word.encode()).digest())
    made = [chance.gauss(0, 1) for _ in range(size)]
    length = math.sqrt(sum(one * one for one in made))
    return [one / length for one in made]


def vector(text: str, size: int = SIZE) -> list[float]:
    """The sum of its words' directions; a known meaning counts most."""
    found = [0.0] * size
    for word in re.findall(r"\w+", text.casefold()):
        meaning = next((name for name, words in MEANINGS.items() if word in words), "")
        weight = 5.0 if meaning else 1.0
        for place, one in enumerate(direction(meaning or word, size)):
            found[place] += weight * one
    return found


class Embeddings:
    """What the server was sent, and how it behaves."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, Any]] = self.vectors
        self.size = SIZE
        self.gate = threading.Event()
        self.gate.set()

    @property
    def texts(self) -> list[str]:
        """Every text it was sent."""
        return [text for request in self.requests for text in request["input"]]

    def vectors(self, asked: dict[str, Any]) -> tuple[int, Any]:
        """What a server answers, in another order than it was asked."""
        data = [
            {"object": "embedding", "index": at, "embedding": vector(text, self.size)}
            for at, text in enumerate(asked["input"])
        ]
        used = {"prompt_tokens": 1, "total_tokens": 1}
        body = {"object": "list", "model": asked["model"], "usage": used, "data": data[::-1]}
        return 200, body

    def refuse(self, asked: dict[str, Any]) -> tuple[int, Any]:
        """What a broken server answers."""
        return 500, {"error": {"message": "out of memory"}}


@contextmanager
def embeddings() -> Iterator[Embeddings]:
    """A server with ``/embeddings``, for as long as the block runs."""
    held = Embeddings()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            held.requests.append(asked)
            held.keys.append(self.headers.get("Authorization", ""))
            held.gate.wait(60)
            status, answer = held.answer(asked)
            body = json.dumps(answer).encode()
            try:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            except OSError:
                pass  # who asked has gone

        def log_message(self, *_: Any) -> None:
            pass

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as opened:
        held.url = f"http://127.0.0.1:{opened.server_address[1]}"
        yield held
        held.gate.set()
