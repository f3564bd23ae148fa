"""Calls Slack's Web API and converts its errors.

Imported when Slack is first used, because importing the libraries is slow.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp
import hookline_channelkit as kit
import yarl
from hookline_channelkit.limits import Kind, Scope
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from .config import TOKENS, Json, SlackConfig, data

REQUEST_TIMEOUT = aiohttp.ClientTimeout(total=30, connect=10)
FILE_TIMEOUT = aiohttp.ClientTimeout(total=110, connect=10)
"""Timeout for the bytes of a file."""
HOSTS = (".slack.com", ".slack-gov.com", ".slack-files.com")
"""Hosts of files and of addresses for answers. Other apps may share files stored elsewhere
(docs.slack.dev/reference/objects/file-object, ``is_external``)."""
KINDS: dict[str, Kind] = {
    "chat_postMessage": "text",
    "chat_update": "edit",
    "files_completeUploadExternal": "file",
    "assistant_threads_setStatus": "typing",
}
PER_CHAT = "chat_postMessage"
"""The only method with a rate per channel; all others have one per workspace
(docs.slack.dev/apis/web-api/rate-limits)."""
_FACTS = data("errors.json")
_ERRORS = kit.ErrorClassifier(_FACTS["errors"])


class Api:
    """The Web API with both tokens.

    Attributes:
        skew: the seconds that Slack's clock is ahead.
        scopes: the bot's scopes, from the last answer.
        connected: when the last socket was opened, by Slack's clock.
    """

    def __init__(self, config: SlackConfig, bot_token: str, app_token: str) -> None:
        quiet = logging.getLogger("hookline.slack.sdk")
        quiet.setLevel(logging.CRITICAL)  # errors are raised
        self._bot_token, self._app_token = bot_token, app_token
        self.session = aiohttp.ClientSession(timeout=REQUEST_TIMEOUT, trust_env=True)
        self._web = AsyncWebClient(
            bot_token, config.api_url, session=self.session, logger=quiet, retry_handlers=[]
        )  # the library's handlers would repeat a post after a broken connection
        self.skew = self.connected = 0.0
        self.scopes: frozenset[str] = frozenset()

    async def ask(self, method: str, **fields: Any) -> Json:
        """Call a method, by its name in the library. Raises the kit's errors, never with a token
        in their text."""
        if method == "apps_connections_open":
            fields = {"app_token": self._app_token}
        try:
            answer = await getattr(self._web, method)(**fields)
        except SlackApiError as error:
            raise _map_error(method, error) from None
        except (aiohttp.ClientError, OSError) as error:
            raise kit.connection_error("Slack", error) from None
        self.scopes = frozenset(answer.headers.get("x-oauth-scopes", "").split(","))
        if date := answer.headers.get("Date"):
            self.skew = parsedate_to_datetime(date).timestamp() - time.time()
        found: Json = answer.data
        return found

    async def aclose(self) -> None:
        """Close the connections."""
        await self.session.close()

    async def upload(self, url: str, content: bytes) -> None:
        """Upload a file's content, the second step of sending it; it is not visible yet."""
        async with self.session.post(url, data=content, timeout=FILE_TIMEOUT) as answer:
            _check(answer)

    async def download(self, file: Json) -> AsyncIterator[bytes]:
        """Yield the bytes of a file, given the answer of ``files.info``.

        Without permission Slack answers with a sign-in page and status 200.
        """
        url = str(file["url_private_download"])
        if not self._is_slacks(url):
            raise kit.ChatGone(
                "the file is stored outside of Slack, where the bot's token must not be sent"
            )
        head = {"Authorization": f"Bearer {self._bot_token}"}
        async with self.session.get(url, headers=head, timeout=FILE_TIMEOUT) as answer:
            _check(answer)
            if answer.content_type == "text/html":
                page = await answer.read()
                if len(page) != int(kit.get_in(file, "size", default=0)):
                    raise kit.PermissionDenied(missing_scope("files:read"))
                yield page  # an HTML file that a person has sent
                return
            async for chunk in answer.content.iter_any():
                yield chunk

    async def respond(self, url: str, text: str) -> None:
        """Answer a command in a channel without the bot, at the address that came with it.

        Only its author sees the answer
        (docs.slack.dev/interactivity/handling-user-interaction).
        """
        if not self._is_slacks(url):
            raise kit.ChatGone("the command's response_url is not an address of Slack")
        body = {"response_type": "ephemeral", "text": text}
        try:
            async with self.session.post(url, json=body) as answer:
                _check(answer)
        except (aiohttp.ClientError, OSError) as error:
            raise kit.connection_error("Slack", error) from None

    def _is_slacks(self, url: str) -> bool:
        asked, api = yarl.URL(url), yarl.URL(self._web.base_url)
        if asked.host == api.host:
            return asked.scheme == api.scheme
        return asked.scheme == "https" and f".{asked.host}".endswith(HOSTS)


def _check(answer: aiohttp.ClientResponse) -> None:
    """Raise the error of a file's status; the library's own would contain the secret address."""
    kind = kit.ChatGone if answer.status in (403, 404, 410) else kit.PlatformError
    if answer.status >= 400:
        raise kind(f"Slack refused a file with status {answer.status}")


def missing_scope(scope: str, why: str = "") -> str:
    """Return the error for a scope that the app lacks, and how to add it."""
    return (
        f"the app lacks the scope {scope}{why and ', ' + why}; add it on the app's page under "
        "OAuth & Permissions and press Reinstall to Workspace"
    )


def _map_error(method: str, failed: SlackApiError) -> kit.PlatformError:
    answer, body = failed.response, getattr(failed.response, "data", None)
    status, error = getattr(answer, "status_code", 0), str(kit.get_in(body, "error"))
    if status == 429 or error in _FACTS["rates"]:
        wait = float(answer.headers.get("Retry-After", "1"))
        scope: Scope = "chat" if method == PER_CHAT else "workspace"
        return kit.RetryAfter(wait, scope, KINDS.get(method))
    if error == "missing_scope":
        return kit.PermissionDenied(missing_scope(str(kit.get_in(body, "needed"))))
    if error in _FACTS["tokens"]:
        token = TOKENS["app_token" if method.startswith("apps_") else "bot_token"]
        return kit.CannotStart(token.rejected("Slack"))
    details = str(kit.get_in(body, "response_metadata"))[:300]
    kind = _ERRORS.by_code(error) if error else kit.DeliveryUnknown
    return kind(f"{method}: {error or f'no response, status {status}'} {details}")
