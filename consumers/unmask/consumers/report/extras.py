"""What an installation may lack."""

import importlib
from types import ModuleType

__all__ = ["ExtraMissing", "need"]


class ExtraMissing(Exception):
    """A format was asked for whose library is not installed."""

    def __init__(self, module: str, wanted: str) -> None:
        super().__init__(f"{wanted} needs {module}, which is not installed: pip install 'unmask[reports]'")


def need(module: str, wanted: str) -> ModuleType:
    """The module, imported now. Raises ExtraMissing, which names what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissing(error.name or module, wanted) from error
