"""A server with ``/embeddings`` on loopback whose vectors know a few meanings, and homes for it.

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
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fakes.serving import serving
from hookline.testing import Harness, calls
from hookline_hookspecs import Deny, Lesson, Plugin, hookimpl
from hookline_hookspecs.plugin import NoConfig
from hookline_memory import Memory
from hookline_semantic import Semantic
from hookline_session_search import SessionSearch
from hookline_skills import Skills

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


@pytest.fixture
def embedded() -> Callable[[str], list[float]]:
    """What the vectors of a text are."""
    return vector


@pytest.fixture
def server() -> Iterator[Embeddings]:
    """A server with ``/embeddings``."""
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


class Gates(Plugin[NoConfig]):
    """Stands in for what redacts and scans: `SECRET…` becomes a placeholder, `EVIL` is refused."""

    @hookimpl
    def pre_learn(self, ctx: Any, lesson: Lesson) -> Lesson | Deny:
        """Redact or refuse."""
        if lesson.kind == "embedding" and "EVIL" in lesson.text:
            return Deny("it gives orders")
        if lesson.kind != "embedding":
            return lesson
        text = re.sub(r"SECRET\w*", "[REDACTED:token]", lesson.text)
        return Lesson(lesson.kind, lesson.source, text)


class House:
    """A home with the plugins that search, asked as a person would."""

    def __init__(self, home: Path, server: Embeddings | None, **config: Any) -> None:
        self.home = home
        self.config: dict[str, Any] = {
            "memory": {},
            "skills": {},
            "session-search": {},
            "gates": {},
        }
        self.plugins: list[type[Plugin[Any]]] = [Gates, Memory, Skills, SessionSearch]
        self.workspace = home / "workspace"
        self.workspace.mkdir(parents=True, exist_ok=True)
        if server is not None:
            settings = {"base_url": f"{server.url}/v1", "model": "meaning-1", "api_key": "k-1"}
            self.config["semantic"] = {**settings, "patience": 10, **config}
            self.plugins.insert(0, Semantic)
        self.open()

    def open(self) -> None:
        """A process on the home."""
        self.harness = Harness(*self.plugins, home=self.home, config=self.config)
        self.harness.run(self.harness.aopen())

    def restart(self) -> None:
        """Another process on the same home."""
        self.harness.close()
        self.open()

    def use(self, *plugins: type[Plugin[Any]], **config: Any) -> None:
        """Other plugins, after a restart."""
        self.plugins, self.config = list(plugins), config
        self.restart()

    def call(self, tool: str, session: str = "test", **arguments: Any) -> Any:
        """The result of one call of the model."""
        self.harness.model.steps += [[calls(tool, **arguments)], "done"]
        return self.harness.send("go on", session=session).tool_calls[0]

    def remember(self, *facts: str) -> None:
        """Learn facts."""
        for fact in facts:
            assert self.call("memory", action="remember", content=fact).ok

    def say(self, text: str, session: str = "test", answer: str = "all right") -> str:
        """Say something; return the context that the model gets with it."""
        self.harness.model.steps.append(answer)
        self.harness.send(text, session=session)
        return str(self.harness.model.last.messages[-1].context or "")

    def fill(self) -> Any:
        """``hookline semantic fill``."""
        return self.harness.cli("semantic fill")

    def skill(self, name: str, description: str) -> None:
        """Write a skill."""
        folder = self.home / "skills" / name
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\n\nDo it.\n"
        (folder / "SKILL.md").write_text(text, "utf-8")

    def vectors(self) -> list[dict[str, Any]]:
        """What ``hookline semantic status --json`` says is kept."""
        found = json.loads(self.harness.cli("semantic status --json").stdout)
        corpora: list[dict[str, Any]] = found["corpora"]
        return corpora


@pytest.fixture
def house(tmp_path: Path, server: Embeddings) -> Iterator[Callable[..., House]]:
    """Make homes whose meaning is compared by the server."""
    made: list[House] = []

    def make(**config: Any) -> House:
        asked = None if config.pop("off", False) else server
        made.append(House(tmp_path / f"home{len(made)}", asked, **config))
        return made[-1]

    yield make
    server.gate.set()
    for one in made:
        one.harness.close()
