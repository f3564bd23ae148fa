"""Near-duplicates are refused by the tool; similar skills are not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hookline.testing import calls

from .conftest import Bench, labelled, skill_text


@pytest.mark.slow
def test_duplicate_skill_is_refused_and_the_existing_one_named(bench: Bench) -> None:
    data = labelled("similarity")
    skills = {skill["name"]: skill for skill in labelled("skills")}
    missed = []
    for name, again in data["again"].items():
        bench.write(name, skills[name]["description"], skills[name]["body"])
        for one in again:
            text = bench.create(one["name"], one["description"], one["body"]).text
            if f"the skill {name} already covers this" not in text:
                missed.append((name, one["name"], text))
    assert missed == []


@pytest.mark.slow
def test_similar_skill_is_created(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(max_agent_skills=100)
    for skill in labelled("skills"):
        bench.write(skill["name"], skill["description"], skill["body"])
    for one in labelled("similarity")["near"]:
        assert bench.create(one["name"], one["description"], one["body"]).ok, one["name"]


@pytest.mark.slow
def test_labelled_skills_are_not_duplicates_of_each_other(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(max_agent_skills=100)
    for skill in labelled("skills"):
        result = bench.create(skill["name"], skill["description"], skill["body"])
        assert result.ok, (skill["name"], result.text)


def test_duplicate_error_says_what_to_do(bench: Bench) -> None:
    text = "Deploy the web shop with docker compose."
    bench.create("deploy-shop", text)
    result = bench.create("shop-deployment", text)
    assert 'skill_manage(action="patch", name="deploy-shop"' in result.text
    bench.harness.run(bench.skills.records.pin("deploy-shop"))
    assert "there is nothing to save" in bench.create("shop-deployment", text).text


@pytest.mark.slow
def test_lookalike_and_invalid_names_are_refused(bench: Bench) -> None:
    bench.create("copy", "Copies files.")
    for name in ("сору", "cοpy", "cop-y", "ｃｏｐｙ", "COPY"):
        result = bench.create(name, "Does something else entirely, with numbers.")
        assert not result.ok, name
    for name in ("con", "skills", "-x", "x--y", "a" * 65, "a_b", "", ".hidden", "../x"):
        assert not bench.create(name, "Does something else entirely, with numbers.").ok, name
    for name in ("日本語メモ", "größen-tabelle", "отчёт", "회의-정리2"):
        assert bench.create(name, f"Etwas anderes: {name}").ok, name


def test_number_of_skills_is_limited(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(max_agent_skills=2)
    bench.write("by-hand", "Was written by a person.")
    bench.create("water-plants", "Water the plants.")
    bench.create("bake-bread", "Bake bread.")
    refused = bench.create("fix-bike", "Mend a puncture.")
    assert "the limit is 2" in refused.text
    assert "by-hand" not in refused.text
    assert bench.manage("delete", "bake-bread").ok
    assert bench.create("fix-bike", "Mend a puncture.").ok


VERBS = ["deploy", "release", "roll out", "update", "restart", "migrate", "back up", "monitor"]
THINGS = [
    *("web shop", "billing database", "mail server", "search index", "photo archive", "blog"),
    *("kubernetes cluster", "data warehouse", "chat bot", "game server"),
]
WAYS = [
    "{Verb} the {thing} with a script over SSH.",
    "How to {verb} the {thing}: pull, check, switch over.",
    "Use when asked to {verb} the {thing}, with checks before and after.",
    "Steps and pitfalls of a task: {verb} {thing}.",
]


@pytest.mark.slow
def test_two_hundred_sessions_leave_a_small_library_without_duplicates(bench: Bench) -> None:
    """A model that always wants a new skill, and patches where it is told to."""
    chance = random.Random(7)
    for number in range(200):
        verb, thing = chance.choice(VERBS), chance.choice(THINGS)
        way = chance.choice(WAYS)
        description = way.format(verb=verb, Verb=verb.capitalize(), thing=thing)
        name = chance.choice([f"{verb} {thing}", f"{thing} {verb}", f"{verb}ing-the-{thing}"])
        name = name.replace(" ", "-")
        body = f"# {verb}\n1. Look at the {thing}.\n2. Pull.\n3. Check.\nPitfall {number}."
        create = calls(
            "skill_manage", action="create", name=name, content=skill_text(name, description, body)
        )
        session = f"session-{number}"
        (result,) = bench.call(create, session=session)
        rest = result.text.partition("the skill ")[2]
        if not result.ok and " already covers this" in rest:
            other = rest.partition(" ")[0]
            patch = calls(
                "skill_manage", action="patch", name=other, old_string="3. Check.",
                new_string=f"3. Check.\n4. Mind {number}.",
            )  # fmt: skip
            bench.call(patch, session=session)
    skills = bench.skills.library.skills()
    assert 5 <= len(skills) < 30
    kept = [(s.name, s.description, s.body) for s in skills.values()]
    for name, description, body in kept:
        copy = f"{name}-x"
        refused = bench.create(copy, description, body)
        assert "already covers this" in refused.text
    assert sum("Mind" in body for _, _, body in kept) > 3
