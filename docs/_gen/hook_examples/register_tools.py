from collections.abc import Callable

from hookline_hookspecs import Plugin, Tool, hookimpl
from pydantic import BaseModel


class RoomsConfig(BaseModel):
    rooms: list[str] = ["kitchen"]


class Rooms(Plugin[RoomsConfig]):
    """Offers a tool for each room in config.yaml."""

    @hookimpl
    def register_tools(self, register: Callable[[Tool], None]) -> None:
        for room in self.config.rooms:
            register(Tool(f"look_into_{room}", f"Look into the {room}.", self.look(room)))

    def look(self, room: str) -> Callable[[], str]:
        """Return the function of a tool."""
        return lambda: f"the {room} is empty"
