"""Logging in to a server: tokens in a file of their own, mode 0600, and the person's browser.

In a turn nobody is sent to a browser: where a token can neither be used nor renewed, the call
fails with the command that logs in.
"""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

from hookline_hookspecs import Context, HooklineError, Question
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from .asking import DECLINE, OPENED
from .catalog import write_private
from .servers import Server, needs_login

CALLBACK = "/callback"
DEFAULT_PORT = 8768
"""Of the loopback address that the browser is led back to, unless it is taken."""
WAIT = 300.0
"""Seconds that a person has to log in."""
NO_CODE = (
    "there is no code in the address; take all of the line in which the browser ended, which has "
    "?code= in it"
)
_REQUEST = 16_384
"""Bytes of the browser's request."""

Show = Callable[[str], Awaitable[None]]
M = TypeVar("M", bound=BaseModel)


def token_file(home: Path, server: str) -> Path:
    """Return where a server's tokens are."""
    return home / "mcp" / "tokens" / f"{server}.json"


class TokenFile:
    """The SDK's token storage in one file, bound to the URL that it was made for."""

    def __init__(self, path: Path, url: str, client: OAuthClientInformationFull | None) -> None:
        self.path, self._url, self._client = path, url, client
        self.context: Any = None

    def read(self) -> dict[str, Any]:
        """Return what is stored for this URL; empty if there is nothing, or it is damaged."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) and found.get("url") == self._url else {}

    def _change(self, **values: Any) -> None:
        write_private(self.path, json.dumps(self.read() | {"url": self._url} | values, indent=1))

    @contextmanager
    def kept_aside(self) -> Iterator[None]:
        """Begin without the file; it is put back if what is done meanwhile fails."""
        before = self.path.read_bytes() if self.path.is_file() else None
        self.path.unlink(missing_ok=True)
        try:
            yield
        except BaseException:
            if before is not None:
                write_private(self.path, before.decode("utf-8", "replace"))
            raise

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens."""
        return _parsed(OAuthToken, self.read().get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens, with when they expire and where they are renewed."""
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        context = self.context
        self._change(
            tokens=tokens.model_dump(mode="json"),
            expires=expires,
            metadata=_dumped(context.oauth_metadata),
            resource=_dumped(context.protected_resource_metadata),
            issuer=context.auth_server_url,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that was configured or registered."""
        return self._client or _parsed(OAuthClientInformationFull, self.read().get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a registered client."""
        self._change(client=client_info.model_dump(mode="json"))


def _dumped(model: Any) -> Any:
    return None if model is None else model.model_dump(mode="json")


def _parsed(kind: type[M], data: Any) -> M | None:
    try:
        return None if data is None else kind.model_validate(data)
    except ValidationError:
        return None


class Provider(OAuthClientProvider):
    """The SDK's provider, which after a restart also knows when a token expires, and where to
    renew it."""

    async def _initialize(self) -> None:
        await super()._initialize()
        storage, context = self.context.storage, self.context
        assert isinstance(storage, TokenFile)
        stored = storage.read()
        context.token_expiry_time = stored.get("expires")
        context.oauth_metadata = _parsed(OAuthMetadata, stored.get("metadata"))
        context.protected_resource_metadata = _parsed(
            ProtectedResourceMetadata, stored.get("resource")
        )
        context.auth_server_url = stored.get("issuer")


def provider(
    server: Server,
    home: Path,
    *,
    show: Show | None = None,
    wait: Callable[[], Awaitable[AuthorizationCodeResult]] | None = None,
    port: int = DEFAULT_PORT,
) -> Provider:
    """Return the authentication of a server's requests.

    ``show`` gets the address that a person opens, and ``wait`` returns where the browser was led to
    on this ``port``; without them, nobody is asked.
    """
    config = server.config.oauth
    redirect = f"http://127.0.0.1:{port}{CALLBACK}"
    client = None
    if config.client_id:
        secret = config.client_secret.get_secret_value() if config.client_secret else None
        client = OAuthClientInformationFull(
            client_id=config.client_id,
            client_secret=secret,
            redirect_uris=[AnyUrl(redirect)],
            token_endpoint_auth_method="client_secret_basic" if secret else "none",
        )
    storage = TokenFile(token_file(home, server.name), server.config.url, client)
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(redirect)], client_name="Hookline", scope=config.scope
    )

    async def refuse(_: str) -> None:
        raise OAuthFlowError(needs_login(server.name))

    url = config.client_metadata_url
    made = Provider(server.config.url, metadata, storage, show or refuse, wait, url)
    storage.context = made.context
    return made


class InTurn:
    """A login that a turn needs: its person, if they are at the terminal, is asked to open a page.

    ``person`` returns the context of whoever called.
    """

    def __init__(self, server: Server, home: Path, person: Callable[[], Context | None]) -> None:
        self._server, self._person = server, person
        self.port = _registered(token_file(home, server.name)) or DEFAULT_PORT
        self._loopback: Loopback | None = None

    async def show(self, url: str) -> None:
        """Ask the person to open ``url``. Raises ``OAuthFlowError`` if nobody does."""
        ctx, name = self._person(), self._server.name
        if ctx is None or not ctx.interactive or ctx.channel != "terminal":
            raise OAuthFlowError(needs_login(name))
        self._loopback = Loopback(self.port)
        await self._loopback.__aenter__()
        text = f"The MCP server {name} wants you to log in. Open this page, then say so:\n{url}"
        answer = None
        if self._loopback.port == self.port:
            answer = await ctx.ask(Question(text, (OPENED, DECLINE)))
        if answer != OPENED:
            await self._loopback.__aexit__()
            raise OAuthFlowError(needs_login(name))

    async def wait(self) -> AuthorizationCodeResult:
        """Return what the browser was led to."""
        assert self._loopback is not None
        async with AsyncExitStack() as stack:
            stack.push_async_exit(self._loopback.__aexit__)
            return await self._loopback.wait()


def _registered(path: Path) -> int | None:
    """The port that a stored client was registered with."""
    try:
        client = json.loads(path.read_text("utf-8"))["client"]
        return urlsplit(str(client["redirect_uris"][0])).port
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None


def parsed_answer(text: str) -> AuthorizationCodeResult:
    """Return what the browser was led to: an address or its query.

    Raises:
        HooklineError: there is no code in it; with what the provider said.
    """
    query = urlsplit(text.strip()).query if "?" in text else text.strip()
    values = {name: found[0] for name, found in parse_qs(query).items()}
    if not values.get("code"):
        said = values.get("error_description") or values.get("error") or NO_CODE
        raise HooklineError(f"the login did not succeed: {' '.join(said.split())[:300]}")
    return AuthorizationCodeResult(
        code=values["code"], state=values.get("state"), iss=values.get("iss")
    )


class Loopback:
    """Waits on 127.0.0.1 for the browser, as an ``async with`` block."""

    def __init__(self, port: int = DEFAULT_PORT) -> None:
        self.port = port
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Loopback:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        except OSError:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def wait(self) -> AuthorizationCodeResult:
        """Return the browser's answer. Raises ``HooklineError`` if it fails or does not come."""
        try:
            async with asyncio.timeout(WAIT):
                told = await self._answer
        except TimeoutError:
            raise HooklineError(f"nobody logged in within {WAIT:g} s") from None
        self._answer = asyncio.get_running_loop().create_future()  # a provider may be asked again
        return parsed_answer(told)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = (await reader.readline())[:_REQUEST].decode("latin-1").split(" ")
            target = line[1] if len(line) > 1 and line[0] == "GET" else ""
            if urlsplit(target).path == CALLBACK:
                if not self._answer.done():
                    self._answer.set_result(target)
                said, status = "You may close this page and go back to the terminal.", "200 OK"
            else:
                said, status = "There is nothing here.", "404 Not Found"
            page = f"<!doctype html><title>Hookline</title><p>{html.escape(said)}"
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
            writer.write(
                f"{head}Content-Length: {len(page)}\r\nConnection: close\r\n\r\n{page}".encode()
            )
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass
        finally:
            writer.close()
