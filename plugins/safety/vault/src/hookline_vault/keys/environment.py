"""The key in the variable ``HOOKLINE_VAULT_KEY``."""

from __future__ import annotations

import re

from ..envelope import WrappingKey
from .key_source import KeyContext, KeyUnavailable
from .local_key import HOW_TO_MAKE_KEY, LocalKey, LocalSource, parse_key

VARIABLE = "HOOKLINE_VAULT_KEY"
NEXT_VARIABLE = "HOOKLINE_VAULT_NEXT_KEY"


class EnvironmentKeys(LocalSource):
    """Reads ``HOOKLINE_VAULT_KEY``, and ``HOOKLINE_VAULT_NEXT_KEY`` for ``rekey``."""

    name = "environment"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the variable."""
        variable = NEXT_VARIABLE if pending else VARIABLE
        text = self.context.env.get(variable, "")
        if not text:
            return None
        if _is_in_dotenv(self.context, variable):
            raise KeyUnavailable(
                f"{variable} is in {self.context.home / '.env'}, next to the secrets it protects. "
                "Remove it there and set it in the environment, or use another source "
                "(`hookline vault rekey --to file`)."
            )
        return parse_key(text, variable)

    def prepare(self) -> WrappingKey:
        """Return the key in ``HOOKLINE_VAULT_NEXT_KEY``."""
        key = self.read(pending=True)
        if key is None:
            raise KeyUnavailable(
                f"The environment cannot be changed from here. Set {NEXT_VARIABLE} to a new key "
                f"({HOW_TO_MAKE_KEY}) in addition to {VARIABLE} and run this again, or name "
                "another source with --to."
            )
        return key

    def promote(self, key: WrappingKey) -> str:
        """Return which variables to change."""
        present = self.read(pending=False)
        if present is not None and present.reference == key.reference:
            return ""
        return f"Now move the value of {NEXT_VARIABLE} to {VARIABLE}, everywhere."


def _is_in_dotenv(context: KeyContext, variable: str) -> bool:
    try:
        text = (context.home / ".env").read_text("utf-8", "replace")
    except OSError:
        return False
    return re.search(rf"^\s*(?:export\s+)?{variable}\s*=", text, re.MULTILINE) is not None
