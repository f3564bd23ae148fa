"""Web search: one interface, three services, each in its own module."""

from .choice import SearchChoice, choose_service
from .results import SearchHit, SearchService

__all__ = ["SearchChoice", "SearchHit", "SearchService", "choose_service"]
