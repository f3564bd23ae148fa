"""What provenance costs a turn without tools from outside, in milliseconds of processor time.

``python benchmarks/provenance_cost.py [TURNS]`` compares turns of one tool call with the plugin on
and off, and prints the difference of the best of five runs, and whether the requests are equal.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any

from hookline.testing import calls
from hookline.testing.harness import Harness
from hookline_hookspecs import Content, Plugin, Recipient, tool
from hookline_provenance import Provenance

RUNS = 5


class Desk(Plugin[Any]):
    """A tool that sends, without anything from outside."""

    @tool(effects=("send",), origin="workspace")
    def mail(self, to: Annotated[str, Recipient()], text: Annotated[str, Content()]) -> str:
        """Send a mail."""
        return "sent"


def measure(turns: int, *plugins: type[Plugin[Any]]) -> tuple[float, list[bytes]]:
    """The milliseconds of a turn, and the requests."""
    steps: list[Any] = []
    for _ in range(turns + 1):
        steps += [[calls("mail", to="bob@bank.example", text="hello")], "done"]
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(*plugins, home=Path(folder), model=steps)
        harness.send("mail bob@bank.example", session="first")
        started = time.process_time()
        for number in range(turns):
            harness.send("mail bob@bank.example", session=f"s{number}")
        spent = (time.process_time() - started) / turns * 1000
        home = folder.encode()
        sent = [body.replace(home, b"HOME") for body in harness.model.bodies]
        harness.close()
    return spent, sent


def main() -> None:
    """Print the comparison."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    runs = [(measure(turns, Provenance, Desk), measure(turns, Desk)) for _ in range(RUNS)]
    on, off = min(one[0][0] for one in runs), min(one[1][0] for one in runs)
    equal = all(one[0][1] == one[1][1] for one in runs)
    sys.stdout.write(f"on {on:.2f} ms, off {off:.2f} ms, difference {on - off:.2f} ms a turn; ")
    sys.stdout.write(f"requests {'equal' if equal else 'DIFFER'}\n")


if __name__ == "__main__":
    main()
