"""Semantic search finds what words do not, and changes nothing else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

FACTS = ("The dog is called Biscuit.", "Rent is due on the third.", "Tea is kept in the attic.")


@pytest.mark.slow
def test_fact_is_recalled_by_meaning(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.remember(*FACTS)
    assert "Biscuit" not in home.say("what should my hound eat?", session="before")
    assert home.fill().exit_code == 0
    told = home.say("what should my hound eat?", session="after")
    assert "Biscuit" in told
    assert "Rent" not in told
    assert "Tea" not in told


@pytest.mark.slow
def test_unrelated_message_recalls_no_fact(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.remember(*FACTS)
    home.fill()
    assert "recalled-context" not in home.say("tell me a joke", session="other")


@pytest.mark.slow
def test_memory_tool_finds_by_meaning_and_names_the_source(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.remember(*FACTS)
    home.fill()
    found = home.call("memory", action="recall", query="pet")
    assert "Biscuit" in found.text.splitlines()[1]


@pytest.mark.slow
def test_recall_prefers_matching_words(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.", "Biscuit tins are in the attic with the tea.")
    home.fill()
    told = home.call("memory", action="recall", query="attic tea tins").text
    assert "attic" in told.splitlines()[1]


@pytest.mark.slow
def test_skill_is_injected_by_meaning(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.skill("bake", "Bake sourdough at home.")
    home.skill("plants", "Water plants on a balcony.")
    assert "<skill " not in home.say("help me with a Brot", session="before")
    home.fill()
    told = home.say("help me with a Brot", session="after")
    assert '<skill name="bake">' in told
    assert "plants" not in told


@pytest.mark.slow
def test_message_is_found_by_meaning(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.say("we bought a new vehicle yesterday", session="one")
    home.say("the soup was salty", session="two")
    assert "No message" in home.call("session_search", session="three", query="car").text
    home.fill()
    found = home.call("session_search", session="four", query="car")
    assert "new vehicle" in found.text
    assert "soup" not in found.text


@pytest.mark.slow
def test_semantic_recall_leaves_out_the_current_turn(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.say("we bought a new vehicle yesterday", session="one")
    home.fill()
    home.harness.model.steps += [[_search("car")], "done"]
    result = home.harness.send("look for the car please", session="two").tool_calls[0]
    assert "car please" not in result.text
    assert "vehicle" in result.text


def _search(query: str) -> Any:
    from hookline.testing import calls

    return calls("session_search", query=query)


def test_search_without_semantic_sends_no_requests(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home(off=True)
    home.remember(*FACTS)
    assert "Biscuit" not in home.say("what should my hound eat?", session="s")
    assert "Biscuit" in home.say("what is the dog called?", session="t")
    assert not server.requests
    assert "semantic" not in home.harness.states()


@pytest.mark.slow
def test_semantic_import_brings_no_heavy_module() -> None:
    import subprocess

    code = (
        "import sys, hookline_semantic; "
        "print([one for one in ('openai', 'numpy', 'typer') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_query_is_embedded_once_for_all_corpora(make_home: Callable[..., Any], server: Any) -> None:
    home = make_home()
    home.remember(*FACTS)
    home.skill("bake", "Bake sourdough at home.")
    home.fill()
    before = len(server.requests)
    home.say("what should my hound eat?", session="after")
    assert server.texts.count("what should my hound eat?") == 1
    assert len(server.requests) == before + 1
    assert server.keys[-1] == "Bearer k-1"


@pytest.mark.slow
def test_semantic_search_keeps_chats_apart(make_home: Callable[..., Any]) -> None:
    from hookline_hookspecs import SemanticIndex

    home = make_home()
    home.remember(*FACTS)
    home.say("we bought a new vehicle yesterday", session="one")
    home.fill()
    likeness = home.harness.runtime.engine.services.get(SemanticIndex)

    def near(corpus: str, text: str, scope: str | None) -> dict[str, float]:
        return dict(home.harness.run(likeness.nearest(corpus, text, scope=scope)))

    assert near("memory", "my hound", "terminal\ndefault")
    assert near("sessions", "car", "terminal\ndefault")
    assert not near("memory", "my hound", "telegram\n42")
    assert not near("sessions", "car", "telegram\n42")


@pytest.mark.slow
def test_semantic_compares_only_the_configured_corpora(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home(corpora=["memory"])
    home.remember(*FACTS)
    home.say("we bought a new vehicle yesterday", session="one")
    home.skill("bake", "Bake sourdough at home.")
    home.fill()
    assert {row["corpus"] for row in home.vectors()} == {"memory"}
    assert not any("vehicle" in text for text in server.texts)
