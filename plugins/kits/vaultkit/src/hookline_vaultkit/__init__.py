"""What plugins need to take values from Hookline's vault, without importing the plugin ``vault``.

A plugin whose key is a ``SecretStr`` in its settings needs nothing of this: where config.yaml says
``vault:NAME``, its settings hold the value. :class:`Vault` is the service for those that name a
secret at run time, or keep one; :class:`Secret` is what it gives.
"""

from .references import References, name_in, names_in, passwords_in, valid_name
from .secret import DOTS, Secret
from .service import Vault

__all__ = [
    "DOTS",
    "References",
    "Secret",
    "Vault",
    "name_in",
    "names_in",
    "passwords_in",
    "valid_name",
]
