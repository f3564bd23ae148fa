from collections.abc import Callable

from hookline_hookspecs import Plugin, Reviewer, hookimpl, tool

INSTRUCTION = "Did anyone name a book? Note each title with `note_book`. If not, answer: None."


class Books(Plugin):
    """Notes the books that people mention, after every fifth message."""

    @tool(effects=("learn",), origin="workspace")
    async def note_book(self, title: str) -> str:
        """Note a book."""
        books = await self.host.storage.kv.get("books", [])
        await self.host.storage.kv.set("books", [*books, title])
        return "Noted."

    @hookimpl
    def register_reviewers(self, register: Callable[[Reviewer], None]) -> None:
        register(Reviewer("books", INSTRUCTION, ("note_book",), turns=5, max_calls=2))
