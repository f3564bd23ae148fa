"""Settings with entries that work without each other: an invalid one is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import (
    BaseModel,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    model_validator,
)

from .setting_errors import Key

__all__ = ["StandaloneEntries"]


class StandaloneEntries(BaseModel):
    """Settings that use the valid entries of one key, and warn about the others.

    A subclass sets :attr:`standalone` and implements :meth:`entry_problem`.
    """

    standalone: ClassVar[str]
    """The key whose entries work without each other."""
    _left_out: dict[Key, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def entry_problem(cls, name: str, entry: object) -> tuple[Key, str] | None:
        """Return the invalid key below an entry, and what to write there; None if it is valid."""
        raise NotImplementedError

    @property
    def left_out(self) -> Mapping[Key, str]:
        """Why entries are left out, by the invalid key: ``(standalone, NAME)`` or longer."""
        return self._left_out

    @model_validator(mode="wrap")
    @classmethod
    def _leave_out_invalid(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo
    ) -> Self:
        entries = data.get(cls.standalone) if isinstance(data, Mapping) else None
        if not isinstance(entries, Mapping):
            return handler(data)
        # Entries whose variable or vault secret is missing.
        left_out: dict[Key, str] = dict((info.context or {}).get("left_out", {}))
        incomplete = {at[1] for at in left_out}
        valid: dict[str, object] = {}
        for name, entry in entries.items():
            if str(name) in incomplete:
                continue
            if problem := cls.entry_problem(str(name), entry):
                below, why = problem
                left_out[cls.standalone, str(name), *below] = why
            else:
                valid[str(name)] = entry
        config = handler({**data, cls.standalone: valid})
        config._left_out = left_out
        return config
