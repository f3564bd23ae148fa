"""Adds the generated pages while the site is built; configured under ``hooks`` in mkdocs.yml."""

from __future__ import annotations

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from pages import pages
from plugin_list import plugins

PLUGIN_SECTION = "Plugins"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add each plugin's page to the navigation."""
    for section in config.nav or ():
        if PLUGIN_SECTION in section:
            section[PLUGIN_SECTION] += [{p.name: f"plugins/{p.file}"} for p in plugins()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages to the site, replacing committed ones."""
    for path, text in pages().items():
        if committed := files.get_file_from_path(path):
            files.remove(committed)
        files.append(File.generated(config, path, content=text))
    return files
