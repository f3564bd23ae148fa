"""The form of a spoken answer that is native to a channel; the table is ``native_forms.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field


class NativeForm(BaseModel):
    """``format`` is the recording's encoding, ``as`` a voice message or an ordinary file."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, use_attribute_docstrings=True)

    format: Literal["opus", "mp3", "wav", "flac"] = "mp3"
    """Encoding of the recording."""
    form: Literal["voice", "file"] = Field("file", alias="as")
    """A voice message, or an ordinary file."""


def native_form(channel: str, overrides: Mapping[str, NativeForm]) -> NativeForm:
    """The form for a channel: from ``overrides``, else the table, else the table's default."""
    return overrides.get(channel) or _table().get(channel) or _table()["default"]


@cache
def _table() -> dict[str, NativeForm]:
    text = (resources.files(__package__) / "native_forms.yaml").read_text(encoding="utf-8")
    return {
        name: NativeForm.model_validate(form)
        for name, form in yaml.load(text, Loader=yaml.CSafeLoader).items()
    }
