"""Every generated page of the site, made from the sources in this repository."""

from __future__ import annotations

import config_reference
import hook_reference
import kit_reference
import plugin_list
import type_reference


def pages() -> dict[str, str]:
    """Path in the site's sources to Markdown."""
    made = {
        "reference/hooks.md": hook_reference.page(),
        "reference/types.md": type_reference.page(),
        "reference/kits.md": kit_reference.page(),
        "reference/configuration.md": config_reference.page(),
        "plugins/index.md": plugin_list.page(),
        "changelog.md": (plugin_list.ROOT / "CHANGELOG.md").read_text("utf-8"),
    }
    return made | {f"plugins/{found.file}": found.readme for found in plugin_list.plugins()}
