"""Calls Feishu's REST API and converts its errors.

The library's own REST client is not used: it opens a connection for every request, blocks the event
loop while it fetches a token (``TokenManager`` of lark-channel-sdk 1.4), and misnames the codes
that matter most here, 99991400 (rate) and 230020 (rate of a group).
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, TypeAlias

import hookline_channelkit as kit
import httpx2 as httpx
from hookline_channelkit import CannotStart, MessageGone, PlatformError

from .config import FACTS

Json: TypeAlias = dict[str, Any]
_JSON = "application/json; charset=utf-8"
RENEWAL_SECONDS = 300.0
"""Seconds before its expiry at which a token is renewed; Feishu allows it in the last 1,800."""


class NotFound(MessageGone):
    """A message or chat of a request does not exist, or its content is invalid."""


_ERRORS = kit.ErrorClassifier(FACTS["errors"], NotFound)


class Api:
    """Sends requests of an app; call :meth:`aclose` at the end.

    Args:
        app_id: the app's id.
        secret: its secret, which is sent only to get a token and never logged.
        domain: the API's URL, without a path.
    """

    def __init__(self, app_id: str, secret: str, domain: str) -> None:
        self.app_id, self._secret, self.domain = app_id, secret, domain.rstrip("/")
        self._http = httpx.AsyncClient(
            base_url=self.domain, timeout=httpx.Timeout(20.0, connect=10.0, write=120.0)
        )
        self._token, self._until = "", 0.0
        self._fetching = asyncio.Lock()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def endpoint(self) -> Json:
        """Return the long connection's ``URL`` and ``ClientConfig``.

        Raises :class:`CannotStart`.
        """
        body = {"AppID": self.app_id, "AppSecret": self._secret}
        got = _body(await self._request("POST", "/callback/ws/endpoint", json=body))
        if got.get("code") in (1, 1000040343):
            raise PlatformError(f"Feishu has no free connection ({got.get('msg')})")
        return dict(self._known(got).get("data") or {})

    async def ask(
        self, method: str, path: str, body: Json | None = None, *, sends: bool = False, **more: Any
    ) -> Json:
        """Return the response's ``data``, or all of it without one; ``path`` starts at ``/im/v1``.

        ``sends``: without a response, raise :class:`DeliveryUnknown`. Raises the kit's errors and
        :class:`NotFound`.
        """
        response = await self._authorized(method, path, body, sends, more)
        got = _body(response, sends=sends)
        if (code := got.get("code", 0)) != 0 or response.status_code >= 400:
            raise _refused(int(code), str(got.get("msg", "")), response, self)
        data = got.get("data", got)
        return dict(data) if isinstance(data, dict) else {}

    async def change(self, method: str, path: str, body: Json | None = None) -> None:
        """Send a request about one of the bot's own messages.

        Raises like :meth:`ask`, but ``MessageGone`` or ``BadMarkup`` for :class:`NotFound`.
        """
        try:
            await self.ask(method, path, body)
        except NotFound as error:
            raise (MessageGone if body is None else kit.BadMarkup)(str(error)) from None

    async def read(self, path: str, kind: str) -> bytes:
        """Return the bytes of a message's file; ``kind`` is ``image`` or ``file``."""
        response = await self._authorized("GET", path, None, False, {"params": {"type": kind}})
        if response.headers.get("Content-Type", "").startswith("application/json"):
            got = _body(response)
            raise _refused(int(got.get("code", 0)), str(got.get("msg", "")), response, self)
        return response.content

    async def _authorized(
        self, method: str, path: str, body: Json | None, sends: bool, more: Json
    ) -> httpx.Response:
        """Send a request with a valid token; one that expired early is replaced once."""
        if body is not None:
            data = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
            more["content"] = data.encode("utf-8", "replace")
        for is_last in (False, True):
            token = await self._valid_token()
            headers = {"Authorization": f"Bearer {token}"}
            headers |= {"Content-Type": _JSON} if body is not None else {}
            path = path if path.startswith("/open-apis") else f"/open-apis{path}"
            response = await self._request(method, path, sends=sends, headers=headers, **more)
            if is_last or _code(response) not in FACTS["stale"]:
                break
            if token == self._token:
                self._token = ""
        return response

    async def _valid_token(self) -> str:
        async with self._fetching:
            now = asyncio.get_running_loop().time()
            if not self._token or now >= self._until:
                path = "/open-apis/auth/v3/tenant_access_token/internal"
                body = {"app_id": self.app_id, "app_secret": self._secret}
                got = self._known(_body(await self._request("POST", path, json=body)))
                lives = float(got.get("expire", 0))
                self._token = str(got["tenant_access_token"])
                self._until = now + max(lives - RENEWAL_SECONDS, lives / 2)
            return self._token

    def _known(self, got: Json) -> Json:
        """Return a response to the app's secret. Raises :class:`CannotStart` if it is refused."""
        if got.get("code", 0) == 0:
            return got
        raise CannotStart(
            f"Feishu rejected the app {self.app_id} or its secret ({got.get('code')}: "
            f"{got.get('msg')}); copy App ID and App Secret from {self.domain}/app, Credentials, "
            "into FEISHU_APP_ID and FEISHU_APP_SECRET in .env, and check feishu.domain"
        )

    async def _request(
        self, method: str, path: str, *, sends: bool = False, **more: Any
    ) -> httpx.Response:
        try:
            return await self._http.request(method, path, **more)
        except httpx.HTTPError as error:
            raise kit.connection_error("Feishu", error, sends=sends) from None


def _code(response: httpx.Response) -> Any:
    try:
        return kit.get_in(response.json(), "code", default=0)
    except ValueError:
        return 0


def _body(response: httpx.Response, *, sends: bool = False) -> Json:
    """Return the JSON of a response.

    After an error status a message counts as not delivered; after a success without JSON that is
    unknown.
    """
    try:
        got = response.json()
    except ValueError:
        got = None
    if isinstance(got, dict) and response.status_code < 500:
        return got
    if response.status_code < 400 and sends:
        raise kit.DeliveryUnknown("Feishu's response is not JSON")
    raise PlatformError(f"Feishu returned status {response.status_code}")


def _refused(code: int, message: str, response: httpx.Response, api: Api) -> PlatformError:
    """Return the error for a code; an unknown one counts as permanent and ends the reply."""
    text = f"Feishu refused the request ({code}: {message[:300]})"
    rates = FACTS["rates"]
    if str(code) in rates or response.status_code == 429:
        reset = response.headers.get("x-ogw-ratelimit-reset", "")
        seconds = float(reset) if reset.isdecimal() else 1.0
        return kit.RetryAfter(seconds, rates.get(str(code), "workspace"))
    if code in FACTS["scope_codes"]:
        violations = kit.get_in(response.json(), "error", "permission_violations", default=())
        named = " or ".join(str(one.get("subject")) for one in violations)
        return kit.PermissionDenied(
            f"the app lacks the scope {named or 'for this request'}; switch it on under "
            f"{api.domain}/app/{api.app_id}/auth and publish a version of the app"
        )
    return _ERRORS.by_code(code)(text)
