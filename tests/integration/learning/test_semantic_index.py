"""The semantic index: what is stored, erased and sent to the server, and its cost limits."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Inspection


def rows(home: Any) -> list[tuple[str, str, str, bytes]]:
    """The rows of the plugin's table."""
    with closing(sqlite3.connect(home.home / "hookline.db")) as db, db:
        found = db.execute(
            "SELECT corpus, key, model, vector FROM semantic_vectors WHERE corpus <> 'cohort'"
        )
        return list(found)


def vectors_of(home: Any, corpus: str) -> list[bytes]:
    """The vectors of a corpus."""
    return [vector for kind, _, _, vector in rows(home) if kind == corpus]


@pytest.mark.slow
def test_erased_fact_loses_its_vector_at_once(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.", "Rent is due on the third.")
    home.fill()
    assert len(vectors_of(home, "memory")) == 2
    assert home.call("memory", action="forget", old_text="Biscuit").ok
    assert len(vectors_of(home, "memory")) == 1
    assert "Biscuit" not in home.say("what should my hound eat?", session="after")


@pytest.mark.slow
def test_fact_erased_while_the_plugin_is_off_loses_its_vector_later(
    make_home: Callable[..., Any],
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    plugins, config = home.plugins, home.config
    home.use(*plugins[1:], **{name: one for name, one in config.items() if name != "semantic"})
    assert home.call("memory", action="forget", old_text="Biscuit").ok
    home.use(*plugins, **config)
    home.fill()
    assert not vectors_of(home, "memory")


@pytest.mark.slow
def test_deleted_session_loses_its_vectors(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.say("we bought a new vehicle yesterday", session="one")
    home.fill()
    assert vectors_of(home, "sessions")
    inspection = home.harness.runtime.engine.services[Inspection]
    home.harness.run(inspection.delete_session("one"))
    assert not vectors_of(home, "sessions")
    assert "No message" in home.call("session_search", session="two", query="car").text


@pytest.mark.slow
def test_changed_fact_is_embedded_again_but_equal_text_is_not(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    before = len(server.requests)
    home.fill()
    sent = [text for request in server.requests[before:] for text in request["input"]]
    assert not sent or "The dog is called Biscuit." not in sent
    home.remember("The dog is called Biscuit and is afraid of thunder.")
    home.fill()
    assert server.texts[-1].endswith("thunder.") or "thunder" in " ".join(server.texts)
    assert len(vectors_of(home, "memory")) == 1


@pytest.mark.slow
def test_changed_model_setting_embeds_everything_again(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    first = {model for _, _, model, _ in rows(home)}
    home.config["semantic"]["model"] = "meaning-2"
    server.size = 32
    home.restart()
    assert "Biscuit" not in home.say("what should my hound eat?", session="between")
    home.fill()
    assert {model for _, _, model, _ in rows(home)}.isdisjoint(first)
    assert {len(vector) for vector in vectors_of(home, "memory")} == {32 + 4}
    assert "Biscuit" in home.say("what should my hound eat?", session="after")


@pytest.mark.slow
def test_model_with_a_new_dimension_is_reported_and_embedded_again(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.", "Rent is due on the third.")
    home.fill()
    server.size = 32
    done = home.fill()
    assert done.exit_code == 0
    assert "has 32 dimensions, but stored vectors have 48; embedding all texts again" in done.stdout
    assert "memory: 2 texts" in done.stdout
    assert "Everything has a vector" not in done.stdout
    assert {len(vector) for vector in vectors_of(home, "memory")} == {32 + 4}
    assert "Biscuit" in home.say("what should my hound eat?", session="after")
    home.fill()
    assert home.fill().stdout == "Everything has a vector.\n"


@pytest.mark.slow
def test_replaced_model_of_equal_dimension_is_reported(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()

    def mirrored(asked: Any) -> Any:
        status, body = server.vectors(asked)
        for one in body["data"]:
            one["embedding"].reverse()
        return status, body

    server.answer = mirrored
    done = home.fill()
    assert "now makes other vectors of the same text than the stored ones" in done.stdout
    assert "memory: 1 text\n" in done.stdout
    assert "Biscuit" in home.say("what should my hound eat?", session="after")


@pytest.mark.slow
def test_running_process_uses_vectors_rebuilt_by_another(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    assert "Biscuit" in home.say("what should my hound eat?", session="before")
    server.size = 32
    other = Harness(*home.plugins, home=home.home, config=home.config)
    assert "32 dimensions" in other.cli("semantic fill").stdout
    other.close()
    assert "Biscuit" in home.say("what could my hound drink?", session="after")


@pytest.mark.slow
def test_semantic_index_is_kept_while_the_server_fails(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    kept = rows(home)
    server.answer = server.refuse
    done = home.fill()
    assert done.exit_code == 1
    assert "Everything has a vector" not in done.stdout
    assert "out of memory" in done.stderr
    assert rows(home) == kept


@pytest.mark.slow
def test_search_warns_once_that_no_vector_fits(
    make_home: Callable[..., Any], server: Any, caplog: Any
) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    server.size = 32
    assert "Biscuit" not in home.say("what should my hound eat?", session="one")
    home.say("what should my pet drink?", session="two")
    told = [one for one in caplog.messages if "semantic fill" in one]
    assert len(told) == 1
    assert "32 dimensions" in told[0]


@pytest.mark.slow
def test_semantic_sends_no_text_that_guards_hide(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home()
    home.remember("The dog's chip has the code SECRET4711.", "EVIL dog orders.")
    home.say("the password of the dog is SECRET99", session="s")
    home.fill()
    home.say("is SECRET4711 the code of my hound?", session="t")
    home.say("EVIL hound", session="u")
    sent = " ".join(server.texts)
    assert "SECRET" not in sent
    assert "EVIL" not in sent
    assert "[REDACTED:token]" in sent
    empty = [key for corpus, key, _, vector in rows(home) if corpus == "memory" and not vector]
    assert len(empty) == 1
    before = len(server.requests)
    home.fill()
    assert len(server.requests) == before or "EVIL" not in " ".join(server.texts)


def test_semantic_index_stores_no_text(make_home: Callable[..., Any]) -> None:
    home = make_home()
    home.remember("The dog is called Biscuit.")
    home.fill()
    with closing(sqlite3.connect(home.home / "hookline.db")) as db, db:
        kept = repr(db.execute("SELECT * FROM semantic_vectors").fetchall())
    assert "Biscuit" not in kept


@pytest.mark.slow
def test_daily_token_budget_holds_and_is_reported(
    make_home: Callable[..., Any], server: Any
) -> None:
    home = make_home(daily_tokens=1_500, batch=4)
    home.remember(*(f"Fact number {n} is about {'x' * 200}." for n in range(40)))
    done = home.fill()
    assert done.exit_code == 1
    assert "daily_tokens" in done.stderr
    assert sum(len(text) for text in server.texts) / 4 <= 1_500
    assert 0 < len(vectors_of(home, "memory")) < 40


@pytest.mark.slow
def test_texts_are_embedded_in_batches(make_home: Callable[..., Any], server: Any) -> None:
    home = make_home(batch=8)
    home.remember(*(f"Fact {n} says {n * 7}." for n in range(20)))
    home.fill()
    sizes = [len(one["input"]) for one in server.requests if one["input"][0].startswith("Fact")]
    assert sizes
    assert max(sizes) <= 8


@pytest.mark.slow
def test_removed_corpus_leaves_no_vectors(make_home: Callable[..., Any]) -> None:
    home = make_home(corpora=["memory", "sessions"])
    home.remember("The dog is called Biscuit.")
    home.fill()
    home.config["semantic"]["corpora"] = ["sessions"]
    home.restart()
    home.fill()
    assert not vectors_of(home, "memory")
