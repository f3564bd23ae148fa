"""All generated pages of the site."""

from __future__ import annotations

import config_reference
import hook_reference
import kit_reference
import permission_reference
import plugin_list
import type_reference


def pages() -> dict[str, str]:
    """The Markdown of each page, by its path in the site's sources."""
    generated = {
        "permissions.md": permission_reference.page(),
        "reference/hooks.md": hook_reference.page(),
        "reference/types.md": type_reference.page(),
        "reference/kits.md": kit_reference.page(),
        "reference/configuration.md": config_reference.page(),
        "plugins/index.md": plugin_list.page(),
        "changelog.md": (plugin_list.ROOT / "CHANGELOG.md").read_text("utf-8"),
    }
    readmes = {f"plugins/{found.file}": found.readme for found in plugin_list.plugins()}
    return generated | readmes
