"""OAuth login to a server: the token file (mode 0600) and the redirect from the browser.

Within a turn, only a person at the terminal is asked to log in. Everywhere else the call fails with
the command that logs in.
"""

from __future__ import annotations

import asyncio
import html
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx2
from hookline_hookspecs import Context, HooklineError, Question
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.utils import union_scopes
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl, BaseModel, ValidationError

from .catalog import write_private
from .elicitation import DECLINE, OPENED
from .servers import ToolServer, needs_login
from .tool_schema import strip_hidden

if TYPE_CHECKING:
    from .connection import Transport

CALLBACK = "/callback"
DEFAULT_PORT = 8768
"""Port of the redirect address on 127.0.0.1; another one is used if it is taken."""
LOGIN_TIMEOUT = 300.0
"""Seconds that a person has to log in."""
NO_CODE = "the address has no code; copy the browser's whole final address, which contains ?code="
MAX_SCOPE_CHARS = 300
MAX_REQUEST_BYTES = 16_384
"""Bytes read of the browser's request line."""

Show = Callable[[str], Awaitable[None]]
M = TypeVar("M", bound=BaseModel)


def token_file(home: Path, server: str) -> Path:
    """Return the path of a server's tokens."""
    return home / "mcp" / "tokens" / f"{server}.json"


class TokenFile:
    """The SDK's token storage in a file, valid only for the server's URL."""

    def __init__(self, path: Path, url: str, client: OAuthClientInformationFull | None) -> None:
        self.path = path
        self._url = url
        self._client = client
        self.context: Any = None

    def read(self) -> dict[str, Any]:
        """Return what is stored for this URL; empty if nothing is, or the file is damaged."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) and found.get("url") == self._url else {}

    def _change(self, **values: Any) -> None:
        write_private(self.path, json.dumps(self.read() | {"url": self._url} | values, indent=1))

    def needed_scope(self) -> str:
        """Return the scope that the next login requests, because a call was refused without it."""
        found = self.read().get("needed_scope")
        return found if isinstance(found, str) else ""

    def need_scope(self, scope: str | None) -> None:
        """Store the scope that the next login requests."""
        if scope != self.read().get("needed_scope"):
            self._change(needed_scope=scope)

    def added_scope(self) -> str:
        """Return what the next login grants besides the scope of the stored tokens."""
        tokens = _parse(OAuthToken, self.read().get("tokens"))
        granted = (tokens.scope or "").split() if tokens else []
        return " ".join(one for one in self.needed_scope().split() if one not in granted)

    @contextmanager
    def restore_on_failure(self) -> Iterator[None]:
        """Remove the file for the block, and put it back if the block fails."""
        before = self.path.read_bytes() if self.path.is_file() else None
        scope = self.needed_scope()
        self.path.unlink(missing_ok=True)
        if scope:
            self.need_scope(scope)
        try:
            yield
        except BaseException:
            self.path.unlink(missing_ok=True)
            if before is not None:
                write_private(self.path, before.decode("utf-8", "replace"))
                self.need_scope(None)  # the provider may have refused it
            raise

    async def get_tokens(self) -> OAuthToken | None:
        """Return the stored tokens."""
        return _parse(OAuthToken, self.read().get("tokens"))

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens with their expiry and the endpoints that renew them."""
        expires = None if tokens.expires_in is None else time.time() + tokens.expires_in
        context = self.context
        self._change(
            tokens=tokens.model_dump(mode="json"),
            needed_scope=None,
            expires=expires,
            metadata=_dump(context.oauth_metadata),
            resource=_dump(context.protected_resource_metadata),
            issuer=context.auth_server_url,
        )

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that was configured or registered."""
        return self._client or _parse(OAuthClientInformationFull, self.read().get("client"))

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store a registered client."""
        self._change(client=client_info.model_dump(mode="json"))


def _dump(model: Any) -> Any:
    return None if model is None else model.model_dump(mode="json")


def _parse(kind: type[M], data: Any) -> M | None:
    try:
        return None if data is None else kind.model_validate(data)
    except ValidationError:
        return None


class OAuthLoginProvider(OAuthClientProvider):
    """The SDK's provider, which also restores a token's expiry and endpoints after a restart."""

    async def _initialize(self) -> None:
        await super()._initialize()
        storage = self.context.storage
        context = self.context
        assert isinstance(storage, TokenFile)
        stored = storage.read()
        context.token_expiry_time = stored.get("expires")
        context.oauth_metadata = _parse(OAuthMetadata, stored.get("metadata"))
        context.protected_resource_metadata = _parse(
            ProtectedResourceMetadata, stored.get("resource")
        )
        context.auth_server_url = stored.get("issuer")

    async def _perform_authorization(self) -> httpx2.Request:
        storage, metadata = self.context.storage, self.context.client_metadata
        assert isinstance(storage, TokenFile)
        metadata.scope = union_scopes(metadata.scope, storage.needed_scope())
        if self.context.current_tokens is not None:
            storage.need_scope(metadata.scope)
        return await super()._perform_authorization()


def make_provider(
    server: ToolServer,
    home: Path,
    *,
    show: Show | None,
    wait: Callable[[], Awaitable[AuthorizationCodeResult]] | None,
    port: int,
) -> OAuthLoginProvider:
    """Return the authentication for a server's requests.

    ``show`` receives the login page's address; ``wait`` returns the redirect that the browser
    followed to ``port``. Without them no one is asked to log in.
    """
    config = server.config.oauth
    redirect = f"http://127.0.0.1:{port or DEFAULT_PORT}{CALLBACK}"
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
        raise OAuthFlowError(needs_login(server.name, _shown(storage.added_scope())))

    url = config.client_metadata_url
    made = OAuthLoginProvider(server.config.url, metadata, storage, show or refuse, wait, url)
    storage.context = made.context
    return made


class TurnLogin:
    """A login during a turn: a person at the terminal is asked to open the login page.

    ``transport`` knows the person, and stops the clock of their call while they log in.
    """

    def __init__(self, server: ToolServer, home: Path, transport: Transport) -> None:
        self._server = server
        self._transport = transport
        self._tokens = TokenFile(token_file(home, server.name), server.config.url, None)
        self.port = _registered_port(self._tokens.path) or DEFAULT_PORT
        self._loopback: LoopbackServer | None = None

    async def show(self, url: str) -> None:
        """Ask the person to open ``url``. Raises ``OAuthFlowError`` if they do not."""
        caller = self._transport.person()
        ctx: Context | None = caller[0] if caller else None
        name = self._server.name
        more = _shown(self._tokens.added_scope())
        refusal = OAuthFlowError(needs_login(name, more))
        if ctx is None or not ctx.interactive or ctx.channel != "terminal":
            raise refusal
        self._loopback = LoopbackServer(self.port)
        await self._loopback.__aenter__()
        grants = f" that also grants {more}" if more else ""
        text = f"The MCP server {name} requires a login{grants}. Open this page, then confirm:"
        answer = None
        if self._loopback.port == self.port:
            with self._transport.asking(caller):
                answer = await ctx.ask(Question(text, (OPENED, DECLINE), url, "form"))
        if answer != OPENED:
            await self._loopback.__aexit__()
            raise refusal

    async def wait(self) -> AuthorizationCodeResult:
        """Return the redirect that the browser followed."""
        assert self._loopback is not None
        async with AsyncExitStack() as stack:
            stack.push_async_exit(self._loopback.__aexit__)
            with self._transport.asking(self._transport.person()):
                return await self._loopback.wait()


def _shown(scope: str) -> str:
    """A server's scopes in a sentence."""
    return ", ".join(strip_hidden(scope)[:MAX_SCOPE_CHARS].split())


def _registered_port(path: Path) -> int | None:
    """The port with which the stored client was registered."""
    try:
        client = json.loads(path.read_text("utf-8"))["client"]
        return urlsplit(str(client["redirect_uris"][0])).port
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None


def parse_redirect(text: str) -> AuthorizationCodeResult:
    """Parse a redirect: an address or its query.

    Raises:
        HooklineError: it has no code; the text has the provider's reason.
    """
    query = urlsplit(text.strip()).query if "?" in text else text.strip()
    values = {name: found[0] for name, found in parse_qs(query).items()}
    if not values.get("code"):
        reason = values.get("error_description") or values.get("error") or NO_CODE
        raise HooklineError(f"login failed: {' '.join(reason.split())[:300]}")
    return AuthorizationCodeResult(
        code=values["code"], state=values.get("state"), iss=values.get("iss")
    )


class LoopbackServer:
    """Waits on 127.0.0.1 for the browser's redirect; use it with ``async with``."""

    def __init__(self, port: int = 0) -> None:
        self.port = port or DEFAULT_PORT
        self._answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> LoopbackServer:
        try:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        except OSError:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def wait(self) -> AuthorizationCodeResult:
        """Return the redirect. Raises ``HooklineError`` if it fails or does not come."""
        try:
            async with asyncio.timeout(LOGIN_TIMEOUT):
                target = await self._answer
        except TimeoutError:
            raise HooklineError(f"login timed out after {LOGIN_TIMEOUT:g} s") from None
        self._answer = asyncio.get_running_loop().create_future()  # the SDK may wait again
        return parse_redirect(target)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10):
                line = (await reader.readline())[:MAX_REQUEST_BYTES].decode("latin-1").split(" ")
            target = line[1] if len(line) > 1 and line[0] == "GET" else ""
            if urlsplit(target).path == CALLBACK:
                if not self._answer.done():
                    self._answer.set_result(target)
                text = "You can close this page and return to the terminal."
                status = "200 OK"
            else:
                text = "Not found."
                status = "404 Not Found"
            page = f"<!doctype html><title>Hookline</title><p>{html.escape(text)}"
            head = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n"
            writer.write(
                f"{head}Content-Length: {len(page)}\r\nConnection: close\r\n\r\n{page}".encode()
            )
            await writer.drain()
        except (OSError, ValueError, TimeoutError):
            pass
        finally:
            writer.close()
