"""``/artifacts/ID``: the whole of a text that was cut, for people who may see its chat.

Imported only if there is a web server.
"""

from __future__ import annotations

from hookline_hookspecs.web import Download, Problem, RequestLike, identity, path_param, t

from .store import ArtifactStore


async def download(store: ArtifactStore, request: RequestLike) -> Download:
    """Return the text as a file. Raises ``Problem`` (404)."""
    person, id_ = identity(request), path_param(request, "id")
    found = await store.find_with_chat(id_)
    if found is None or not person.may_see(*found[:2]):
        raise Problem(404, "not_found", t("Not found. Artifacts are deleted after a day."))
    stored = found[2]
    text = await store.read(stored, 0, stored.chars)
    body = text.encode("utf-8", "backslashreplace")
    return Download(f"{id_}.txt", body, "text/plain; charset=utf-8")
