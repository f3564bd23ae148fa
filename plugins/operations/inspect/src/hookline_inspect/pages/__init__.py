"""The pages that show what Hookline does: sessions, the prompt, traces, hooks and the doctor.

Imported when a web server asks for routes.
"""

from __future__ import annotations

from collections.abc import Callable

from hookline_hookspecs import Host, Page, Route
from hookline_hookspecs.web import N_, SiteRoute, create_tables

from .doctor import DoctorPage
from .internals import InternalPages
from .sessions import SessionPages


def register_all(host: Host, register: Callable[[Route], None]) -> None:
    """Register the pages and the routes of their forms."""
    create_tables(host, "page_session", id="")
    sessions, doctor, internals = SessionPages(host), DoctorPage(host), InternalPages(host)
    page = Page("Sessions", "Activity", order=20)
    register(SiteRoute("GET", "/sessions", sessions.list, auth="person", page=page))
    register(SiteRoute("GET", "/sessions/{id:path}", sessions.show, auth="person"))
    register(Route("GET", "/export", sessions.export, auth="person"))
    log = N_("renamed a session")
    register(Route("POST", "/rename", sessions.rename, auth="person", log=log))
    log = N_("deleted a session")
    register(Route("POST", "/delete", sessions.delete, auth="person", log=log))
    register(SiteRoute("GET", "/doctor", doctor.show, page=Page("Doctor", "Settings", order=90)))
    register(SiteRoute("POST", "/doctor", doctor.show_online, log=N_("ran the checks")))
    page = Page("Prompt", "Settings", order=110)
    register(SiteRoute("GET", "/prompt", internals.prompt, page=page))
    page = Page("Hooks", "Settings", order=120)
    register(SiteRoute("GET", "/hooks", internals.hooks, page=page))
    register(SiteRoute("GET", "/trace", internals.trace))
