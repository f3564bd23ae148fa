"""Web search: one interface, four services, each in its own module."""

from .choice import SearchChoice, choose_service
from .duckduckgo import DuckDuckGo
from .engine_urls import engine_query
from .results import SearchHit, SearchService

__all__ = [
    "DuckDuckGo",
    "SearchChoice",
    "SearchHit",
    "SearchService",
    "choose_service",
    "engine_query",
]
