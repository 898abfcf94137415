"""The root command, which imports a subcommand only when that subcommand is called.

A subcommand is a module of this package (its `app`, a Typer application) or an entry point of the group
`unmask.commands` (a Typer application, or a function to make a command of). So `unmask broker` never pays for Faust,
and an installation without an extra still runs everything else.
"""

import importlib
import pkgutil
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import typer
from rich.markup import escape
from typer.core import TyperGroup
from typer.main import get_command as to_command

import unmask.consumers.cli as package

__all__ = ["app", "command_names", "load", "run"]

ENTRY_POINT_GROUP = "unmask.commands"

# What a missing module of a command from elsewhere means; commands of this package need no extra beyond `cli`.
_EXTRA_OF_COMMAND = {"stream": "streams"}


def _own_names() -> set[str]:
    names = {module.name for module in pkgutil.iter_modules(package.__path__)}
    return {name for name in names if not name.startswith("_") and name != "main"}


def command_names() -> list[str]:
    """Every subcommand's name, without importing any."""
    return sorted(_own_names() | {point.name for point in entry_points(group=ENTRY_POINT_GROUP)})


def load(name: str) -> typer.Typer | None:
    """The application behind a name, or None for a name nobody has.

    Where its modules are not installed, the application is one that says which extra to install and exits with 1.
    """
    try:
        if name in _own_names():
            found = importlib.import_module(f"{package.__name__}.{name}").app
        else:
            points = entry_points(group=ENTRY_POINT_GROUP, name=name)
            if not points:
                return None
            found = next(iter(points)).load()
    except ModuleNotFoundError as error:
        return _not_installed(name, error.name or "a module")
    return found if isinstance(found, typer.Typer) else _of_function(name, found)


def _of_function(name: str, function: Callable[..., Any]) -> typer.Typer:
    alone = typer.Typer(add_completion=False)
    alone.command(name)(function)
    return alone


def _not_installed(name: str, missing: str) -> typer.Typer:
    extra = _EXTRA_OF_COMMAND.get(name, "cli")
    if missing.startswith("unmask"):
        advice = f"this installation is not whole ({missing} is missing); install unmask again"
    else:
        advice = f"needs {missing}, which is not installed: pip install 'unmask[{extra}]'"

    def explain() -> None:
        typer.echo(f"unmask {name}: {advice}", err=True)
        raise typer.Exit(1)

    alone = typer.Typer(add_completion=False)
    # It must be reached whatever options follow the name.
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    alone.command(name, help=escape(f"(not available: {advice})"), context_settings=settings)(explain)
    return alone


class _LazyGroup(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        return command_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        found = load(cmd_name)
        if found is None:
            return None
        command = to_command(found)
        command.name = cmd_name
        _let_flow(command)
        return command


def _let_flow(command: Any) -> None:
    """Joins the lines of a help text's paragraphs, which break where the code's lines do; the terminal breaks anew."""
    if command.help:
        command.help = "\n\n".join(map(_flowing, command.help.split("\n\n")))
    for inner in getattr(command, "commands", {}).values():
        _let_flow(inner)


def _flowing(paragraph: str) -> str:
    lines = paragraph.split("\n")
    # What is set in or is a list has lines of its own.
    kept = any(line[:1] in ("", " ", "-", "\b") for line in lines)
    return paragraph if kept else " ".join(lines)


app = typer.Typer(
    cls=_LazyGroup,
    name="unmask",
    help="Count every masked fault, prove that nothing was lost, and gate what comes next.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)


@app.callback()
def _root() -> None:
    """Hold the options of all commands; there are none."""


def run() -> None:
    """Run the command that the process's arguments name."""
    app()
