"""``hookline proposals`` and ``hookline trust``.

Core reads the signatures when it builds the command line. Imported only then, because of Typer.
"""

from __future__ import annotations

import json as jsonlib
import sys
from typing import Annotated

import typer
from hookline_hookspecs import CommandError

from .proposals import Proposals
from .trust import Trust
from .wording import listed

Json = Annotated[bool, typer.Option("--json", help="JSON.")]
USAGE = 2


class Commands:
    """One method for each command."""

    def __init__(self, proposals: Proposals, trust: Trust) -> None:
        self._proposals = proposals
        self._trust = trust

    async def proposals(
        self,
        action: Annotated[str, typer.Argument(metavar="[accept|reject]")] = "",
        id: Annotated[str, typer.Argument(metavar="[ID]")] = "",  # noqa: A002
        json: Json = False,
    ) -> None:
        """What waits for your word; accept or reject it."""
        if not action:
            found = await self._proposals.open()
            rows = [one.to_dict() for one in found]
            _say(jsonlib.dumps(rows, ensure_ascii=False) if json else listed(found))
        elif action == "accept" and id:
            _say(await self._proposals.accept(id))
        elif action == "reject" and id:
            _say(f"Rejected: {(await self._proposals.reject(id)).what}")
        else:
            raise CommandError(
                "write `hookline proposals`, `hookline proposals accept ID` or `… reject ID`", USAGE
            )

    async def trust(
        self,
        action: Annotated[str, typer.Argument(metavar="[add|remove]")] = "",
        what: Annotated[str, typer.Argument(metavar="[HOST|PERSON|TOOL]")] = "",
    ) -> None:
        """Hosts, people and tools whose words count as the workspace's."""
        if not action:
            _say("\n".join(await self._trust.listed()) or "Nobody is trusted.")
        elif action == "add" and what:
            _say(f"{await self._trust.add(what, 'the terminal')} is trusted.")
        elif action == "remove" and what:
            removed = await self._trust.remove(what)
            _say(f"{what} is not trusted {'any more' if removed else 'by a grant'}.")
        else:
            raise CommandError("write `hookline trust`, `… add WHAT` or `… remove WHAT`", USAGE)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
