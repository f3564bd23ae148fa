"""What each channel's library costs a gateway: the time of its import, and the memory it stays in.

``uv run --all-packages python benchmarks/channels.py [ROUNDS]`` starts a fresh process for each
channel and round. It has what every gateway has already: core, gateway and channel kit. Then
every module of the channel's plugin is imported, and with them its platform's library, as the first
connection does. The median of each is printed: milliseconds of processor time, and MB of resident
memory (Linux) beyond the gateway's.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

CHANNELS = ("webhook", "telegram", "discord", "slack", "feishu")
ROUNDS = 5
PROBE = """
import gc, importlib, json, pkgutil, sys, time

def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

import hookline.runtime, hookline.cli.app, hookline.store.sqlite
import hookline_gateway, hookline_channelkit
import httpx2
package = importlib.import_module(sys.argv[1])
before, began = resident(), time.process_time()
late = {
    "hookline_telegram": ["telegram", "telegram.request"],
    "hookline_discord": ["discord"],
    "hookline_slack": ["slack_sdk.web.async_client"],
    "hookline_feishu": ["lark_channel.ws.client", "lark_channel.ws.model"],
    "hookline_webhook": [],
}[sys.argv[1]]
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
for name in late:
    importlib.import_module(name)
print(json.dumps([(time.process_time() - began) * 1000, (resident() - before) / 1e6]))
"""


def main() -> None:
    """Print a row for each channel."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    say = sys.stdout.write
    say("| channel | import, ms | memory beyond the gateway's modules, MB |\n|---|---|---|\n")
    for channel in CHANNELS:
        found = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", PROBE, f"hookline_{channel}"],
                    capture_output=True,
                    text=True,
                    check=True,
                ).stdout
            )
            for _ in range(rounds)
        ]
        ms, extra = (statistics.median(column) for column in zip(*found, strict=True))
        say(f"| {channel} | {ms:.0f} | {extra:.1f} |\n")


if __name__ == "__main__":
    main()
