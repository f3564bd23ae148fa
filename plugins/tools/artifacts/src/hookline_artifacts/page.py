"""``/artifacts/ID``: a text that was cut, whole, for a person who may see its chat.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from hookline_hookspecs.web import Download, Problem, RequestLike, identity, path_param

from .store import ArtifactStore


async def download(store: ArtifactStore, request: RequestLike) -> Download:
    """Return the text as a file. Raises ``Problem`` (404)."""
    who, id_ = identity(request), path_param(request, "id")
    found = await store.of_chat(id_)
    if found is None or not who.may_see(*found[:2]):
        told = "Not found. Artifacts are deleted after a day."
        raise Problem(404, "not_found", told)
    kept = found[2]
    text = await store.read(kept, 0, kept.chars)
    body = text.encode("utf-8", "backslashreplace")
    return Download(f"{id_}.txt", body, "text/plain; charset=utf-8")
