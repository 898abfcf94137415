"""A file of what a receiver refused for good: one JSON document a line, of tokens, codes, instants and counts alone."""

import json
import os
from datetime import datetime
from pathlib import Path

from unmask.consumers.alerts.receiver import Receiver
from unmask.consumers.alerts.refusals import SetAside
from unmask.schemas.instants import iso, to_micros

__all__ = ["SetAsideFile", "SetAsideUnwritable"]


class SetAsideUnwritable(OSError):
    """The file for refused deliveries cannot be written. Give another --set-aside, or make room."""

    def __init__(self, path: Path, cause: OSError) -> None:
        super().__init__(f"{path} cannot be written ({cause.strerror}); give another --set-aside, or make room")


class SetAsideFile:
    """Appends, and has each line on the disk before it returns. Raises SetAsideUnwritable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise SetAsideUnwritable(path, error) from error

    def write(self, receiver: Receiver, refused: SetAside, at: datetime) -> None:
        """One delivery, with the alert as it was to be told."""
        (alert, *_) = refused.parcel.alerts
        line = {
            "at": iso(to_micros(at)),
            "receiver": receiver.kind.value,
            "status": refused.status,
            "places": [place._asdict() for place in refused.parcel.places],
            "alert": alert.model_dump(mode="json"),
        }
        try:
            self._file.write(json.dumps(line, allow_nan=False) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise SetAsideUnwritable(self._path, error) from error

    def close(self) -> None:
        """Closes the file."""
        self._file.close()
