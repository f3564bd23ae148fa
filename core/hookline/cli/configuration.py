"""``hookline config …``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

import typer

from .shared import USAGE, Json, err, home, load_config, out, out_json, set_config

if TYPE_CHECKING:
    from hookline.config import Loaded

app = typer.Typer(help="Show, check and change the configuration.", no_args_is_help=True)


@app.command()
def path() -> None:
    """Print the path of config.yaml."""
    out(str(home() / "config.yaml"))


@app.command()
def show(json: Json = False) -> None:
    """Print the effective config with secrets masked."""
    from hookline.config import effective

    found = effective(load_config())
    if json:
        out_json(found)
        return
    import yaml

    out(yaml.safe_dump(found, sort_keys=False, allow_unicode=True))


@app.command()
def check() -> None:
    """Check config.yaml; exit code 2 if there are errors."""
    from hookline.runtime import Runtime

    logging.getLogger("hookline").addHandler(logging.NullHandler())  # the reasons are printed here
    loaded = load_config()
    runtime = Runtime(loaded, home(), strict=False)
    runtime.plugins.load()
    problems = [*loaded.provider_errors.values(), *_absent_drivers(loaded)]
    for name, loading in runtime.plugins.loadings.items():
        if loading.state in ("failed", "missing"):
            problems.append(f"plugin {name} is not on: {loading.reason}")
        for warning in loading.warnings:
            err(f"hookline: warning: {warning}")
    for problem in problems:
        err(f"hookline: {problem}")
    if problems:
        raise SystemExit(USAGE)
    out(f"{loaded.path}: {'fine' if loaded.path.exists() else 'absent, defaults apply'}")


def _absent_drivers(loaded: Loaded) -> Iterator[str]:
    """Yield a sentence for each provider in the config whose driver is not installed."""
    from hookline.config import provider_settings, split_model
    from hookline.config.problems import nearest, sentence

    installed = {point.name for point in entry_points(group="hookline.providers")}
    config = loaded.config
    models = [("model", config.model), ("auxiliary_model", config.auxiliary_model)]
    models += [("fallback_models", model) for model in config.fallback_models]
    keys: dict[str, tuple[str, ...]] = {split_model(m).provider: (key,) for key, m in models if m}
    keys |= {name: ("providers", name, "driver") for name in config.providers}
    for name in keys.keys() - loaded.provider_errors:
        driver, _ = provider_settings(loaded, name)
        if driver not in installed:
            near = nearest(driver, {*installed, *loaded.presets} - {driver})
            hint = f"did you mean {near}?" if near else f"pip install hookline-{driver}"
            told = f"no provider {driver!r} is installed; {hint}"
            yield sentence(loaded.path, loaded.lines, keys[name], told)


@app.command()
def schema() -> None:
    """Print the JSON schema of config.yaml, for editors."""
    from hookline.config.model import ConfigFile

    out_json(ConfigFile.model_json_schema())


@app.command("set")
def set_(key: str, value: str) -> None:
    """Set KEY (dotted, such as session.idle_hours) to VALUE (YAML)."""
    out(f"{key} is set in {set_config(key, value)}")
