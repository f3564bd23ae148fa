"""How long finding skills takes: ``python benchmarks/skill_match.py``.

A home is filled with skills: those of the labelled set of the plugin `skills`, and variants of them
about made-up things, so that words are as common and as rare as in a large library. Then the
requests of the labelled set are asked. ``match`` is what a message waits for: one look at every
``SKILL.md`` (is it the one that is known?) and the ranking; ``look`` and ``rank`` are its parts;
``load`` is the first reading of all. Medians and 95th percentiles in milliseconds, and the
processor time, which what else the machine does hardly changes. Recall and precision are those of
the labelled set alone, with the default settings.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time, sleep
from typing import Any

import yaml
from hookline_skills.config import SkillsConfig
from hookline_skills.library import SkillLibrary
from hookline_skills.matcher import match_threshold

DATA = Path(__file__).parents[1] / "plugins" / "learning" / "skills" / "tests" / "data"
SIZES = (50, 200, 1_000)
SETTLED = 1.5
"""Seconds after which the folder's time stamp can be trusted, as it can in a home in use."""
LIMIT = 5.0
"""Wanted milliseconds for a match at 1,000 skills (issue 7)."""
SYLLABLES = ("ka", "lo", "mi", "ter", "vo", "san", "del", "qui", "ber", "ran", "pol", "ti", "gu")
HEAD = ("skills", "what", "median ms", "95 % ms", "median CPU ms", "wanted", "met")


Samples = list[tuple[float, float]]
"""Milliseconds of each call: by the clock, and of the processor."""


def labelled(name: str) -> Any:
    """A file of the labelled set."""
    return yaml.safe_load((DATA / f"{name}.yaml").read_text("utf-8"))


def requests() -> list[tuple[str, str]]:
    """Every request of the labelled set with the skill that is wanted; empty where none is."""
    data = labelled("queries")
    mixed, none = data.pop("mixed words"), data.pop("none")
    pairs = [
        (name, text) for part in (data, mixed) for name, texts in part.items() for text in texts
    ]
    return pairs + [("", text) for text in none]


def fill(root: Path, size: int) -> None:
    """Write ``size`` skills: the labelled ones, then variants."""
    chance = random.Random(7)
    known = labelled("skills")
    for number in range(size):
        skill = known[number % len(known)]
        name, description, body = skill["name"], skill["description"], skill["body"]
        if number >= len(known):
            things = ["".join(chance.choices(SYLLABLES, k=3)) for _ in range(12)]
            name = f"{name}-{things[0]}"[:60]
            description = f"{description} For {' and '.join(things[:4])} only."
            body = "\n".join(
                [body, *(f"{n}. Look at {thing}." for n, thing in enumerate(things, 1))]
            )
        (root / name).mkdir(exist_ok=True)
        front = yaml.safe_dump({"name": name, "description": description}, allow_unicode=True)
        (root / name / "SKILL.md").write_text(f"---\n{front}---\n\n{body}\n", "utf-8")


def timed(texts: Iterable[str], work: Callable[[str], object]) -> Samples:
    """The time of each call."""
    taken = []
    for text in texts:
        begin, worked = perf_counter(), process_time()
        work(text)
        taken.append(((perf_counter() - begin) * 1e3, (process_time() - worked) * 1e3))
    return taken


def measured(root: Path, size: int, rounds: int) -> list[tuple[str, ...]]:
    """The rows for a library of ``size`` skills."""
    fill(root, size)
    library = SkillLibrary(root, logging.getLogger("skills"))
    load = timed([""], lambda _: library.skills())
    sleep(SETTLED)
    texts = [text for _, text in requests()] * rounds
    most = SkillsConfig().matches
    found = {
        "match": timed(texts, lambda text: library.match(text, most)),
        "look": timed(texts, lambda _: library.skills()),
        "rank": timed(texts, lambda text: library.index.search(text, most)),
        "load": load,
    }
    return [row(size, what, samples) for what, samples in found.items()]


def row(size: int, what: str, samples: Samples) -> tuple[str, ...]:
    """One line of the table."""
    clock, processor = [one for one, _ in samples], [one for _, one in samples]
    slow = quantiles(clock, n=20)[-1] if len(clock) > 1 else clock[0]
    limited = what == "match" and size == max(SIZES)
    wanted = f"≤ {LIMIT:g}" if limited else ""
    met = ("yes" if median(clock) <= LIMIT else "no") if limited else ""
    times = (f"{value:.2f}" for value in (median(clock), slow, median(processor)))
    return (str(size), what, *times, wanted, met)


def quality(root: Path) -> str:
    """Recall and precision of the labelled set, as a sentence."""
    fill(root, len(labelled("skills")))
    library = SkillLibrary(root, logging.getLogger("skills"))
    settings = SkillsConfig()
    hits = shown = wrong = 0
    pairs = requests()
    for wanted, text in pairs:
        found = library.match(text, settings.matches)
        enough = match_threshold([score for _, score in found], settings.threshold)
        names = [skill.name for skill, score in found if score >= enough]
        if wanted:
            hits += wanted in names
            shown += len(names)
        else:
            wrong += bool(names)
    asked = sum(bool(wanted) for wanted, _ in pairs)
    return (
        f"{len(library.skills())} skills, {asked} requests: recall@{settings.matches} "
        f"{hits / asked:.3f}, precision {hits / shown:.3f}; of {len(pairs) - asked} requests for "
        f"no skill, {wrong} were given one."
    )


def main() -> None:
    """Measure and print a Markdown table."""
    parser = argparse.ArgumentParser(description="Time how skills are found.")
    parser.add_argument("--rounds", type=int, default=4, help="times each request is asked")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    rows = [HEAD, tuple("---" for _ in HEAD)]
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            rows += measured(Path(folder), size, options.rounds)
    with tempfile.TemporaryDirectory() as folder:
        sentence = quality(Path(folder))
    lines = ["| " + " | ".join(line) + " |" for line in rows]
    sys.stdout.write("\n".join([*lines, "", sentence]) + "\n")


if __name__ == "__main__":
    main()
