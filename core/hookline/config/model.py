"""Core's own config as pydantic models: every key with its default, rules and description.

The documentation and `hookline config schema` are generated from these models. document.py and
variables.py read YAML and environment variables.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

_HOST_NAME = re.compile(r"(\*\.)?([\w-]+\.)*[\w-]*[^\W\d][\w-]*\.?")


def _text(pattern: str, expected: str) -> AfterValidator:
    """Validate that a whole text matches `pattern`; the error names what is `expected`."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.S):
            raise ValueError(f"expected {expected}")
        return text

    return AfterValidator(check)


def _host(text: str) -> str:
    host = re.sub(r"^(\[.*\]|[^:]*):[0-9]{1,5}$", r"\1", text)
    try:
        if not _HOST_NAME.fullmatch(host):
            ipaddress.ip_network(host.strip("[]"), strict=False)
    except ValueError:
        raise ValueError(
            "expected a host, *.host, IP address or CIDR, with or without :port, and no scheme"
        ) from None
    return text


_ADDRESS = _text(r"(https?://.*)?", "an address that starts with http:// or https://")
ModelName = Annotated[
    str, _text(r"\s*[^\s/][^/]*/.*\S.*", "provider/model, such as anthropic/claude-sonnet-4-5")
]
Host = Annotated[str, AfterValidator(_host)]
Folder = Annotated[str, _text(r".*\S.*", "a folder; `.` is the current one")]
Store = Annotated[
    str, _text(r"[a-z][\w-]*(\+\w+)?(://.*)?", "sqlite or an address: postgresql://user@host/name")
]
Tokens = Annotated[int, Field(ge=1)]
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _key(default: Any, description: str, **rules: Any) -> Any:
    """A key with default and description. Parsing attribute docstrings would slow every start."""
    return Field(default=default, description=description, **rules)


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class SessionConfig(_Section):
    """When a session ends. The next message then starts a new one."""

    idle_hours: Duration = _key(24, "Hours without a message that end a session.")
    max_days: Duration = _key(30, "Maximum age of a session in days.")


class ProviderConfig(_Section):
    """A model provider. Other keys are options of its driver."""

    model_config = ConfigDict(extra="allow")

    driver: str | None = _key(
        None, "Driver; null = the preset's, or openai for a provider with a base_url."
    )
    base_url: Annotated[str, _ADDRESS] | None = _key(None, "Base URL; null = the preset's.")
    api_key: SecretStr | None = _key(None, "API key; null = the preset's environment variable.")
    headers: dict[str, str] = _key({}, "HTTP headers sent with each request.")
    window: Tokens | dict[str, Tokens] | None = _key(
        None,
        "Context window in tokens, for all models or by model name; null = the server's, if known.",
    )


class NetworkConfig(_Section):
    """What the guarded HTTP client may reach."""

    block_private: bool = _key(True, "Refuse addresses that are not public.")
    allow_hosts: list[Host] = _key(
        [], "Exempt from block_private: host, *.host, IP or CIDR, with or without a port."
    )
    block_hosts: list[Host] = _key([], "Always refused; overrides allow_hosts.")


class PathsConfig(_Section):
    """What the guarded file access may reach."""

    allowed_roots: list[Folder] = _key([], "Folders allowed in addition to the workspace.")
    edit_own_code: bool = _key(
        False, "Let tools change the code that Hookline runs, to develop Hookline with itself."
    )


LogLevel: TypeAlias = Literal["debug", "info", "warning", "error"]


class LogConfig(_Section):
    """What is written to ``logs/hookline.log`` in the home."""

    level: LogLevel = _key("warning", "The least serious level: debug, info, warning or error.")
    plugins: dict[str, LogLevel] = _key({}, "Another level for a plugin, by its name.")


class Config(_Section):
    """Core's config. For the settings of plugins see `PluginEntry`."""

    model: ModelName | None = _key(
        None, "provider/model; null = first preset whose key or base-URL variable is set."
    )
    auxiliary_model: ModelName | None = _key(
        None, "provider/model for titles, summaries and the like; null = model."
    )
    fallback_models: list[ModelName] = _key(
        [], "provider/model names that the plugin `fallback` tries, in order."
    )
    operator_message: str | None = _key(None, "Your own text in the stable prompt.")
    workspace: Folder = _key(".", "Where `chat` and `run` work.")
    store: Store = _key("sqlite", "The database: sqlite, or postgresql://…")
    max_iterations: int = _key(90, "Maximum number of model calls in a turn.", ge=1)
    session: SessionConfig = _key(SessionConfig(), "How long a session lives.")
    trace: bool = _key(False, "Record what every hook does.")
    log: LogConfig = _key(LogConfig(), "What is written to the log.")
    providers: dict[str, ProviderConfig] = _key(
        {}, "Providers by name: changes to a preset, or new ones."
    )
    network: NetworkConfig = _key(NetworkConfig(), "What HTTP may reach.")
    paths: PathsConfig = _key(PathsConfig(), "What file access may reach.")


class ConfigFile(Config):
    """All of config.yaml: the core's config and the plugins' section."""

    plugins: dict[str, bool | dict[str, Any] | None] = _key(
        {}, "Plugins by name: true, false, or a mapping of settings (on)."
    )


class PresetModel(_Section):
    """A model of a preset; `window` is in tokens, None if unknown."""

    name: str
    window: int | None = None


class Preset(_Section):
    """A provider in defaults.yaml. `key_env` is None for servers that need no key."""

    driver: str
    base_url: str
    key_env: str | None
    base_url_env: str
    model: str
    models: list[PresetModel]


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """The config of one plugin.

    `enabled` is False if there is an `error`. `named` is True if config mentions the plugin,
    `standard` if it is in the standard set. `settings` are expanded but not yet validated, and do
    not include the key `enabled`. `file` is the source of a plugin that is a single file.
    """

    name: str
    enabled: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    named: bool = False
    standard: bool = False
    error: str | None = None
    file: Path | None = None

    @property
    def kind(self) -> str:
        """The name of the entry point: the part of `name` before the colon, if it has one."""
        return self.name.partition(":")[0]
