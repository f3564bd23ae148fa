import typer
from hookline_hookspecs import Plugin, hookimpl
from hookline_hookspecs.hooks.boot import RegisterCli
from pydantic import BaseModel


class GreetingsConfig(BaseModel):
    greetings: dict[str, str] = {"hello": "Hello!"}


class Greetings(Plugin[GreetingsConfig]):
    """Adds a command for each greeting in config.yaml."""

    @hookimpl
    def register_cli(self, register: RegisterCli) -> None:
        for name, text in self.config.greetings.items():
            register(f"greet-{name}", self.printing(text), help=f"Print {text}")

    @staticmethod
    def printing(text: str) -> object:
        """Return the function of a command."""

        def command(times: int = 1) -> None:
            typer.echo("\n".join([text] * times))

        return command
