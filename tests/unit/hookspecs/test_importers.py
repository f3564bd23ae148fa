"""An importer that is created on first use."""

from __future__ import annotations

import asyncio

from hookline_hookspecs.importers import Importer, Item, LateImporter, Outcome, Receipt


class Kept:
    """Keeps what it is given."""

    kinds = frozenset({"thing"})

    def __init__(self) -> None:
        self.seen: list[object] = []

    async def look(self, item: Item) -> Outcome:
        self.seen.append(("look", item.id))
        return Outcome("planned")

    async def take(self, item: Item, *, again: bool = False) -> Outcome:
        self.seen.append(("take", item.id, again))
        return Outcome("migrated", receipt={"id": item.id})

    async def give_back(self, kind: str, receipt: Receipt) -> Outcome:
        self.seen.append(("back", kind, receipt["id"]))
        return Outcome("planned")


def test_late_importer_is_created_once_on_first_use() -> None:
    made: list[Kept] = []

    def make() -> Kept:
        made.append(Kept())
        return made[-1]

    late: Importer = LateImporter(Kept.kinds, make)
    assert (late.kinds, made) == ({"thing"}, [])
    item = Item("1", "thing", "elsewhere", {})

    async def work() -> list[str]:
        looked = await late.look(item)
        taken = await late.take(item, again=True)
        back = await late.give_back("thing", taken.receipt)
        return [looked.state, taken.state, back.state]

    assert asyncio.run(work()) == ["planned", "migrated", "planned"]
    [kept] = made
    assert kept.seen == [("look", "1"), ("take", "1", True), ("back", "thing", "1")]
