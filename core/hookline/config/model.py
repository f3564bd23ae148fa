"""The core's own config as pydantic models: every key, its default, its rule and its description.

The documentation and `config schema` are generated from here. YAML and environment variables are
read in document.py and variables.py.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

_HOST_NAME = re.compile(r"(\*\.)?([\w-]+\.)*[\w-]*[^\W\d][\w-]*\.?")


def _text(pattern: str, expected: str) -> AfterValidator:
    """Validate that all of a text matches `pattern`; the error says what is `expected`."""

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
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _key(default: Any, description: str, **rules: Any) -> Any:
    """A key's default and description. Parsing docstrings would slow every start."""
    return Field(default=default, description=description, **rules)


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, hide_input_in_errors=True)


class SessionConfig(_Section):
    """When a session ends, and the next message begins a new one."""

    idle_hours: Duration = _key(24, "Hours of silence that end a session.")
    max_days: Duration = _key(30, "Days that end a session in any case.")


class ProviderConfig(_Section):
    """One provider of models. Keys besides these are options of its driver."""

    model_config = ConfigDict(extra="allow")

    driver: str | None = _key(
        None, "What speaks to it; null = the preset's, or openai for a provider with an address."
    )
    base_url: Annotated[str, _ADDRESS] | None = _key(None, "Its address; null = the preset's.")
    api_key: SecretStr | None = _key(None, "Null = the preset's variable.")
    headers: dict[str, str] = _key({}, "HTTP headers sent with each request.")


class NetworkConfig(_Section):
    """What the guarded HTTP client may reach."""

    block_private: bool = _key(True, "Refuse addresses that are not public.")
    allow_hosts: list[Host] = _key(
        [], "Exempt from block_private: host, *.host, IP or CIDR, with or without a port."
    )
    block_hosts: list[Host] = _key([], "Always refused, whatever is allowed.")


class PathsConfig(_Section):
    """What the guarded file access may reach."""

    allowed_roots: list[Folder] = _key([], "Folders beside the workspace.")


class Config(_Section):
    """The core's config. For the settings of plugins see `PluginEntry`."""

    model: ModelName | None = _key(
        None, "provider/model; null = first preset whose key or base-URL variable is set."
    )
    auxiliary_model: ModelName | None = _key(
        None, "provider/model for titles, summaries and the like; null = model."
    )
    fallback_models: list[ModelName] = _key(
        [], "provider/model names that the plugin `fallback` tries, in order."
    )
    operator_message: str | None = _key(None, "Text for the stable prompt.")
    workspace: Folder = _key(".", "Where `chat` and `run` work.")
    store: Store = _key("sqlite", "Where sessions are: sqlite, postgresql://…")
    max_iterations: int = _key(90, "Model calls in one turn at most.", ge=1)
    session: SessionConfig = _key(SessionConfig(), "How long a session lives.")
    trace: bool = _key(False, "Record what every hook did.")
    providers: dict[str, ProviderConfig] = _key(
        {}, "Providers by name: settings laid over a preset, or new ones."
    )
    network: NetworkConfig = _key(NetworkConfig(), "What HTTP may reach.")
    paths: PathsConfig = _key(PathsConfig(), "What file access may reach.")


class ConfigFile(Config):
    """All of config.yaml: the core's config and the plugins' section."""

    plugins: dict[str, bool | dict[str, Any] | None] = _key(
        {}, "By name: true, false, or a mapping of settings (on)."
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

    `enabled` is False if there is an `error`. `named` tells whether config mentions the plugin,
    `standard` whether it is in the standard set. `settings` are expanded, not yet validated, and
    without the key `enabled`.
    """

    name: str
    enabled: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    named: bool = False
    standard: bool = False
    error: str | None = None

    @property
    def kind(self) -> str:
        """The name of the entry point: all of `name`, or what precedes its colon."""
        return self.name.partition(":")[0]
