"""Messages with some of the words, choices of words, and inflected words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import Origin
from hookline_hookspecs.chat_files import Chat
from hookline_hookspecs.conversation_search import ConversationSearch, FoundMessage
from hookline_session_search import SessionSearch
from support.matrices import sampled


def test_messages_with_some_words_are_found_and_missing_words_are_named(talk: Any) -> None:
    talk.say("the wombat digs")
    talk.say("a wombat and a quokka dig at night")
    result = talk.search("wombat quokka unicorn")
    assert [one["missing"] for one in result.data] == [["unicorn"], ["quokka", "unicorn"]]
    assert ", without quokka, unicorn\n" in result.text
    assert (
        "no message of this chat contains all of that; these contain some of the words, none "
        "contains unicorn" in result.text
    )


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("我们讨论了数据库迁移的方案，决定使用PostgreSQL", "迁移方案"),
        ("我们讨论了数据库迁移的方案，决定使用PostgreSQL", "PostgreSQL迁移"),
        ("新しいサーバーの設定を確認しました", "設定サーバー"),
        ("サーバーはNginxで動いています", "nginxサーバー"),
    ],
)
def test_runs_of_words_without_blanks_are_found_apart(talk: Any, said: str, typed: str) -> None:
    talk.say(said)
    assert said[:8] in talk.search(typed).text


def test_all_words_in_one_message_leave_out_those_with_some(talk: Any) -> None:
    talk.say("the wombat digs")
    talk.say("a wombat and a quokka")
    result = talk.search("quokka wombat")
    assert [one["snippet"] for one in result.data] == ["a wombat and a quokka"]
    assert "without" not in result.text


def test_or_joins_two_words(talk: Any) -> None:
    for text in ("red wombat", "red quokka", "red lizard", "blue quokka", "red or blue"):
        talk.say(text)
    assert sorted(talk.found("wombat OR quokka red")) == ["red quokka", "red wombat"]
    assert len(talk.found("wombat OR quokka OR lizard")) == 4
    assert talk.found("red or blue") == ["red or blue"]
    assert talk.search("unicorn OR dragon red").data[0]["missing"] == ["unicorn OR dragon"]


@sampled(
    ("said", "typed"),
    [
        ("we restarted both servers", "server"), ("the server restarts", "restarted servers"),
        ("two happy studies", "study happiness"), ("die alten Häuser brannten", "Haus"),
        ("mehrere Verträge", "Vertrag"), ("des chevaux et des journaux", "cheval journal"),
        ("los números nacionales", "numero nacional"), ("le città italiane", "italiano"),
        ("os cartões novos", "cartão novo"), ("de rode fietsen", "fiets"),
        ("я читаю книги", "книга"), ("οι μεγάλοι δρόμοι", "δρόμος"), ("de gamla bilarna", "bilar"),
    ],
)  # fmt: skip
def test_inflected_words_are_found(talk: Any, said: str, typed: str) -> None:
    talk.say(said)
    assert talk.found(typed) == [said]


@pytest.mark.parametrize("typed", ["cat", "study", "12"])
def test_word_that_only_begins_alike_is_not_found(talk: Any, typed: str) -> None:
    talk.say("a category of students 1234")
    assert talk.found(typed) == []


def test_word_as_written_comes_before_inflected_ones(talk: Any) -> None:
    talk.say("servers, servers, servers")
    talk.say("one server among a good deal of other things that are longer")
    assert [line[:3] for line in talk.found("server")] == ["one", "ser"]


def test_snippet_is_around_the_inflected_word(talk: Any) -> None:
    talk.say("filler words " * 100 + "we restarted both servers " + "and so on " * 100)
    [line] = talk.found("server restart")
    assert "we restarted both servers" in line


async def _ask(h: Harness, text: str, **options: Any) -> list[FoundMessage]:
    search = h.plugin(SessionSearch).host.services.get(ConversationSearch)
    assert search is not None
    return await search.query(text, **options)


def test_plugins_search_by_any_word_in_a_scope(harness: Callable[..., Harness]) -> None:
    h = harness(SessionSearch, model=["noted"] * 3)
    h.send("the wombat digs", session="old")

    async def say() -> None:
        await h.channel.say("a quokka smiles", chat="one", user="ada")
        await h.channel.replies(1)

    h.channel  # noqa: B018 - opens the core
    h.run(say())

    def found(text: str, **options: Any) -> list[str]:
        return sorted(one.snippet for one in h.run(_ask(h, text, **options)))

    assert found("wombat quokka", scope=None) == []
    assert found("wombats quokkas", scope=None, any_word=True) == [
        "a quokka smiles",
        "the wombat digs",
    ]
    [one] = h.run(_ask(h, "quokka unicorn", scope=None, any_word=True))
    assert one.missing == ("unicorn",)
    assert one.origins == (Origin("person", f"{one.channel}:ada"),)
    chat = Chat(one.channel, one.chat_id)
    assert found("wombat quokka", scope=chat, any_word=True) == ["a quokka smiles"]
    assert found("  ", scope=None) == []
