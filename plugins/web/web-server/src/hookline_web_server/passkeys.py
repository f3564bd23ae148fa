"""Passkeys (WebAuthn): people register one while they are signed in, and sign in with it later.

The library ``webauthn`` verifies what browsers send; it is imported when a passkey is used.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import Host
from hookline_hookspecs.web import N_, Identity, Problem, t

from .audit_log import AuditLog
from .logins import Logins, NewLogin
from .request_rules import RequestSender

if TYPE_CHECKING:
    from webauthn.helpers.structs import UserVerificationRequirement

CHALLENGE_SECONDS = 300.0
MAX_CHALLENGES = 1_000
"""Challenges that are kept; above it, the oldest is forgotten."""
MAX_PASSKEYS_PER_PERSON = 20
MAX_LABEL_CHARS = 64
NAME = "Hookline"
LOCALHOST = "localhost"


@dataclass(frozen=True, slots=True)
class _Challenge:
    """What a browser was asked to sign: for registering by a device, or for a login."""

    device: str
    relying_party: str
    expires: float


class Passkeys:
    """Registers, lists, removes and verifies passkeys.

    Args:
        host: the plugin's host.
        logins: signs a browser in.
        audit: records what is done.
    """

    def __init__(self, host: Host, logins: Logins, audit: AuditLog) -> None:
        self._host, self._logins, self._audit = host, logins, audit
        self._challenges: OrderedDict[bytes, _Challenge] = OrderedDict()

    def problem(self, sender: RequestSender) -> str:
        """Return why passkeys cannot be used at this address; empty if they can."""
        if find_spec("webauthn") is None:
            return t(
                "Passkeys need the library webauthn. "
                "Install it where Hookline is installed: uv pip install webauthn"
            )
        name, _, port = sender.host.partition(":")
        if name == LOCALHOST or (sender.is_https and not _is_address(name)):
            return ""
        address = f"http://{LOCALHOST}{f':{port}' if port else ''}"
        return t("Passkeys need HTTPS and a host name, or {address}.", address=address)

    async def listed(self, name: str | None = None) -> Sequence[Mapping[str, Any]]:
        """Return the passkeys of a person, or of everyone: ``id name label created used``."""
        rows = await self._host.storage.fetch("passkeys")
        return [dict(row) for row in rows if name is None or row["name"] == name]

    async def registration_options(self, who: Identity, sender: RequestSender) -> dict[str, Any]:
        """Return what the browser needs to make a passkey. Raises :class:`Problem`."""
        self._require(sender)
        from webauthn import generate_registration_options
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            PublicKeyCredentialDescriptor,
            ResidentKeyRequirement,
        )

        known = await self.listed(who.name)
        if len(known) >= MAX_PASSKEYS_PER_PERSON:
            text = t("You have {n} passkeys. Remove one first.", n=len(known))
            raise Problem(409, "too_many", text)
        party = _relying_party(sender)
        options = generate_registration_options(
            rp_id=party,
            rp_name=NAME,
            user_id=sha256(who.person.encode()).digest(),
            user_name=who.name,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED, user_verification=_verification()
            ),
            exclude_credentials=[PublicKeyCredentialDescriptor(_bytes(one["id"])) for one in known],
        )
        self._remember(options.challenge, who.device, party)
        return _as_json(options)

    async def register(
        self, who: Identity, sender: RequestSender, label: str, credential: Mapping[str, Any]
    ) -> None:
        """Verify and store a new passkey. Raises :class:`Problem`."""
        self._require(sender)
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url

        challenge, party = self._take(credential, who.device)
        try:
            verified = verify_registration_response(
                credential=dict(credential),
                expected_challenge=challenge,
                expected_rp_id=party,
                expected_origin=_origin(sender),
                require_user_verification=True,
            )
        except Exception as error:  # the library raises many kinds for malformed input
            self._host.log.info("a passkey was refused: %s", error)
            raise _refused(400) from None
        id_ = bytes_to_base64url(verified.credential_id)
        if await self._host.storage.fetch("find_passkey", id=id_):
            raise Problem(409, "known", t("This passkey is already registered."))
        await self._host.storage.execute(
            "put_passkey",
            id=id_,
            name=who.name,
            role=who.role,
            label=" ".join(label.split())[:MAX_LABEL_CHARS] or t("Passkey"),
            public_key=bytes_to_base64url(verified.credential_public_key),
            counter=verified.sign_count,
            created=self._host.now(),
        )
        self._audit.add(who, N_("added a passkey"), 200)

    async def remove(self, who: Identity, id_: str) -> None:
        """Remove a passkey of a person. Raises :class:`Problem` (404)."""
        if not await self._host.storage.execute("drop_passkey", id=id_, name=who.name):
            raise Problem(404, "not_found", t("You have no such passkey."))
        self._audit.add(who, N_("removed a passkey"), 200)

    def login_options(self, sender: RequestSender) -> dict[str, Any]:
        """Return what the browser needs to sign in with a passkey. Raises :class:`Problem`."""
        self._require(sender)
        from webauthn import generate_authentication_options

        party = _relying_party(sender)
        options = generate_authentication_options(rp_id=party, user_verification=_verification())
        self._remember(options.challenge, "", party)
        return _as_json(options)

    async def login(
        self,
        sender: RequestSender,
        credential: Mapping[str, Any],
        agent: str,
        before: Identity | None,
    ) -> NewLogin:
        """Verify a signature and sign its browser in. Raises :class:`Problem` (400, 401)."""
        self._require(sender)
        from webauthn import verify_authentication_response

        challenge, party = self._take(credential, "")
        id_ = str(credential.get("id", ""))
        rows = await self._host.storage.fetch("find_passkey", id=id_)
        if not rows:
            raise _refused(401)
        row = rows[0]
        try:
            verified = verify_authentication_response(
                credential=dict(credential),
                expected_challenge=challenge,
                expected_rp_id=party,
                expected_origin=_origin(sender),
                credential_public_key=_bytes(row["public_key"]),
                credential_current_sign_count=row["counter"],
                require_user_verification=True,
            )
        except Exception as error:  # the library raises many kinds for malformed input
            self._host.log.warning("a passkey of web:%s was refused: %s", row["name"], error)
            raise _refused(401) from None
        counted = await self._host.storage.execute(
            "use_passkey",
            id=id_,
            before=row["counter"],
            counter=verified.new_sign_count,
            used=self._host.now(),
        )
        if not counted:
            raise _refused(401)
        made = await self._logins.sign_in(row["name"], row["role"], agent, before)
        if made is None:
            raise _refused(401)
        self._audit.add(made.identity, N_("signed in with a passkey"), 200)
        return made

    def _require(self, sender: RequestSender) -> None:
        if problem := self.problem(sender):
            raise Problem(409, "no_passkeys", problem)

    def _remember(self, challenge: bytes, device: str, party: str) -> None:
        expires = self._host.now() + CHALLENGE_SECONDS
        self._challenges[challenge] = _Challenge(device, party, expires)
        while len(self._challenges) > MAX_CHALLENGES:
            self._challenges.popitem(last=False)

    def _take(self, credential: Mapping[str, Any], device: str) -> tuple[bytes, str]:
        """Return the challenge that a browser has signed and its relying party; each works once."""
        try:
            data = json.loads(_bytes(credential["response"]["clientDataJSON"]))
            challenge = _bytes(data["challenge"])
        except (KeyError, TypeError, ValueError):
            raise _refused(400) from None
        found = self._challenges.pop(challenge, None)
        if found is None or found.device != device or found.expires < self._host.now():
            text = t("This attempt has expired or was used already. Try again.")
            raise Problem(400, "expired", text)
        return challenge, found.relying_party


def _relying_party(sender: RequestSender) -> str:
    return sender.host.partition(":")[0]


def _origin(sender: RequestSender) -> str:
    return f"{'https' if sender.is_https else 'http'}://{sender.host}"


def _is_address(name: str) -> bool:
    return name.startswith("[") or name.replace(".", "").isdecimal()


def _verification() -> UserVerificationRequirement:
    from webauthn.helpers.structs import UserVerificationRequirement

    return UserVerificationRequirement.REQUIRED


def _bytes(text: Any) -> bytes:
    from webauthn.helpers import base64url_to_bytes

    return base64url_to_bytes(text)


def _as_json(options: Any) -> dict[str, Any]:
    from webauthn import options_to_json

    found: dict[str, Any] = json.loads(options_to_json(options))
    return found


def _refused(status: int) -> Problem:
    text = t("The passkey was not accepted.")
    return Problem(status, "bad_passkey", text, t("Try again, or use a login link."))
