"""One turn of the priced session in a process of its own: ``prompt_turn.py HOME NUMBER``.

The clock is shifted by ``HOOKLINE_CLOCK_OFFSET``.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from prompt_home import open_runtime, run_turn


async def main(home: Path, number: int) -> None:
    """Run the turn."""
    async with open_runtime(home) as runtime:
        await run_turn(runtime, number)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
