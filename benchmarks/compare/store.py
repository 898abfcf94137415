"""Results as they come: one JSON line per run, so that a run that was broken off goes on where it stopped."""

import json
from pathlib import Path
from typing import Any

__all__ = ["Store"]


class Store:
    """Lines of results in a file."""

    def __init__(self, path: Path, *, fresh: bool) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            path.unlink(missing_ok=True)

    def all(self) -> list[dict[str, Any]]:
        """What was written, oldest first."""
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines() if line]

    def has(self, **wanted: Any) -> bool:
        """Whether there is a line with these values."""
        return any(all(line.get(name) == value for name, value in wanted.items()) for line in self.all())

    def add(self, line: dict[str, Any]) -> None:
        """Writes a line."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
