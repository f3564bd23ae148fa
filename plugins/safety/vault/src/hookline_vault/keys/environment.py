"""The key in the variable ``HOOKLINE_VAULT_KEY``."""

from __future__ import annotations

import re

from ..envelope import Key
from .local import MAKE, LocalKey, LocalSource, parse_key
from .source import KeyFault, Place

VARIABLE, NEXT = "HOOKLINE_VAULT_KEY", "HOOKLINE_VAULT_NEXT_KEY"


class EnvironmentKeys(LocalSource):
    """Reads ``HOOKLINE_VAULT_KEY``, and ``HOOKLINE_VAULT_NEXT_KEY`` for ``rekey``."""

    name = "environment"

    def read(self, *, pending: bool) -> LocalKey | None:
        """Return the key in the variable."""
        variable = NEXT if pending else VARIABLE
        text = self.place.env.get(variable, "")
        if not text:
            return None
        if _is_in_dotenv(self.place, variable):
            raise KeyFault(
                f"{variable} stands in {self.place.home / '.env'}, beside what it protects; "
                "take it out, and set it in the environment, or keep it with another source "
                "(`hookline vault rekey --to file`)."
            )
        return parse_key(text, f"The variable {variable}")

    def prepare(self) -> Key:
        """Return the key in ``HOOKLINE_VAULT_NEXT_KEY``."""
        key = self.read(pending=True)
        if key is None:
            raise KeyFault(
                f"An environment cannot be written: set {NEXT} to the new key ({MAKE}) beside "
                f"{VARIABLE}, and run this again; or name another source with --to."
            )
        return key

    def promote(self, key: Key) -> str:
        """Tell which variables have to change."""
        present = self.read(pending=False)
        if present is not None and present.reference == key.reference:
            return ""
        return f"Now set {VARIABLE} to what {NEXT} holds, everywhere, and take {NEXT} away."


def _is_in_dotenv(place: Place, variable: str) -> bool:
    try:
        text = (place.home / ".env").read_text("utf-8", "replace")
    except OSError:
        return False
    return re.search(rf"^\s*(?:export\s+)?{variable}\s*=", text, re.MULTILINE) is not None
