"""Prints an interpreter's installed distributions as JSON; run as a script, to avoid caches.

``{"pip", "externally_managed", "maker", "prefix", "dists": [{"name", "version", "requires",
"brings", "url", "editable"}]}``; ``brings`` maps entry-point groups of Hookline to names.
"""

from __future__ import annotations

import json
import sys
import sysconfig
from importlib.metadata import Distribution, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

MAKERS = {"uv-receipt.toml": "uv tool", "pipx_metadata.json": "pipx"}
"""Files that tool managers leave in the environments they make."""


def probe() -> dict[str, Any]:
    """The environment of this interpreter; the module's docstring describes the keys."""
    prefix = Path(sys.prefix)
    makers = [maker for file, maker in MAKERS.items() if (prefix / file).exists()]
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    return {
        "pip": find_spec("pip") is not None,
        "externally_managed": sys.prefix == sys.base_prefix and marker.exists(),
        "maker": makers[0] if makers else "",
        "prefix": sys.prefix,
        "dists": [_dist_row(dist) for dist in distributions() if dist.metadata["Name"]],
    }


def _dist_row(dist: Distribution) -> dict[str, Any]:
    brings: dict[str, list[str]] = {}
    for point in dist.entry_points:
        if point.group.startswith("hookline."):
            brings.setdefault(point.group, []).append(point.name)
    direct = json.loads(dist.read_text("direct_url.json") or "{}")
    return {
        "name": dist.metadata["Name"],
        "version": dist.version,
        "requires": dist.requires or [],
        "brings": brings,
        "url": direct.get("url", ""),
        "editable": bool(direct.get("dir_info", {}).get("editable")),
    }


if __name__ == "__main__":
    json.dump(probe(), sys.stdout)
