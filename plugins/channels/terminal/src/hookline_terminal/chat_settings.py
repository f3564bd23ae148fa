"""``/theme``, ``/vim`` and ``/editor``: how the chat looks and how its input line is edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hookline_hookspecs import Host
from hookline_markdown.themes import current_theme, use_theme
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode

from .config import TerminalConfig
from .input_line import InputLine
from .preferences import Preferences
from .terminal_background import theme_for
from .theme_setting import MEANINGS, SETTINGS, ThemeSetting, theme_setting

THEME, VIM, EDITOR = "/theme", "/vim", "/editor"
ON = "on"


class ChatSettings:
    """Handles the commands, and restores what was chosen in an earlier chat.

    Args:
        host: the plugin's host, for the environment and the plugin's folder.
        config: the settings in ``config.yaml``, which a choice in the chat overrules.
        line: the input line.
        send: sends a control sequence to the terminal.
    """

    def __init__(
        self, host: Host, config: TerminalConfig, line: InputLine, send: Callable[[str], None]
    ) -> None:
        self._env = host.env
        self._config = config
        self._line = line
        self._send = send
        self._preferences = Preferences(host)
        self._commands: Mapping[str, Callable[[str], str]] = {THEME: self._theme, VIM: self._vim}

    def restore(self) -> None:
        """Apply theme and editing mode. Call in raw mode, before the line is read."""
        self._apply_theme()
        self._line.app.editing_mode = self._editing_mode()

    def handles(self, text: str) -> bool:
        """Whether ``text`` is one of the commands."""
        return _name(text) in (*self._commands, EDITOR)

    async def run(self, text: str) -> str:
        """Run a command; return a sentence for the person, empty if there is nothing to say."""
        name, arguments = _name(text), text.strip().partition(" ")[2].strip()
        if name != EDITOR:
            return self._commands[name](arguments)
        self._line.draft = Document(arguments, len(arguments))
        await self._line.edit_draft()
        return ""

    @property
    def _setting(self) -> ThemeSetting:
        return theme_setting(self._preferences.get("theme"), self._config.theme)

    def _apply_theme(self) -> None:
        use_theme(theme_for(self._setting, self._env, self._line.app.input, self._send))
        self._line.follow_theme()

    def _theme(self, arguments: str) -> str:
        wanted = arguments.casefold()
        if wanted and wanted not in SETTINGS:
            return f"Unknown theme {arguments!r}. Choose {', '.join(SETTINGS)}."
        if not wanted:
            return self._described() + "\n" + "\n".join(_choices(self._setting))
        try:
            self._preferences.set("theme", wanted)
        except OSError as error:
            return f"The theme cannot be saved: {error.strerror}."
        self._apply_theme()
        return self._described()

    def _described(self) -> str:
        theme = current_theme().name
        if self._env.get("NO_COLOR"):
            return f"Theme {self._setting}. NO_COLOR is set, so there are no colours."
        found = f" ({theme})" if self._setting == "auto" else ""
        return f"Theme {self._setting}{found}."

    def _editing_mode(self) -> EditingMode:
        is_vim = self._preferences.get("vim") == ON
        return EditingMode.VI if is_vim else EditingMode.EMACS

    def _vim(self, arguments: str) -> str:
        is_on = self._preferences.get("vim") == ON
        wanted = {"": not is_on, "on": True, "off": False}.get(arguments.casefold())
        if wanted is None:
            return "Write /vim to switch, or /vim on or /vim off."
        try:
            self._preferences.set("vim", ON if wanted else "")
        except OSError as error:
            return f"The choice cannot be saved: {error.strerror}."
        self._line.app.editing_mode = self._editing_mode()
        if not wanted:
            return "The vi keys are off."
        return "The vi keys are on: Esc, then commands; i inserts. Ctrl-C stops the turn."


def _choices(now: ThemeSetting) -> Sequence[str]:
    return [f"/theme {one}: {MEANINGS[one]}" for one in SETTINGS if one != now]


def _name(text: str) -> str:
    return text.strip().partition(" ")[0].casefold()
