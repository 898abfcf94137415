"""Counts of a JUnit XML file, and a digest of its bytes. No name, message or output of a test is kept.

The file comes from a build and is not trusted: it is read as a stream with Expat, a document type, and with it every
entity that a file could define, is refused, and so is a file that is larger than any report.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.parsers import expat

from unmask.schemas.instants import to_micros

__all__ = ["MAX_BYTES", "JUnitCounts", "JUnitUnusable", "read_junit"]

MAX_BYTES = 64 * 1024 * 1024
"""The largest file that is read."""

_CHUNK = 256 * 1024
# One piece of markup is looked at again with each chunk until its end has come.
_MAX_PIECE = 4 * 1024 * 1024
_MAX_DEPTH = 100
_MOST = 2**31 - 1
_LATEST = to_micros(datetime(9999, 12, 31, tzinfo=UTC))
_SUITES = ("testsuites", "testsuite")
# A test with several of them counts as the first.
_OUTCOMES = ("error", "failure", "skipped")
# What some runners say in an attribute of the test alone, with no element in it.
_SAID = {
    "error": "error",
    "failed": "failure",
    "failure": "failure",
    "disabled": "skipped",
    "ignored": "skipped",
    "notrun": "skipped",
    "skipped": "skipped",
    "suppressed": "skipped",
}


class JUnitUnusable(Exception):
    """The file is no JUnit report that can be believed; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class JUnitCounts:
    """What a report says."""

    tests: int
    failures: int
    errors: int
    skipped: int
    digest: str
    """SHA-256 of the file, hex."""
    began_at: int | None
    """The oldest time in it, microseconds; None where it has none, or one without a time zone."""


def read_junit(path: Path) -> JUnitCounts:
    """Count the tests of a JUnit XML file.

    Tests are counted one by one; where a suite itself says that more failed, ended in an error or were skipped, that
    stands. Raises JUnitUnusable.
    """
    counter = _Counter()
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            size = 0
            while chunk := file.read(_CHUNK):
                size += len(chunk)
                if size > MAX_BYTES:
                    raise JUnitUnusable(
                        f"{path} is larger than {MAX_BYTES // 1024 // 1024} MiB; leave the tests' output out of it"
                    )
                digest.update(chunk)
                counter.take(chunk)
        total = counter.end()
    except OSError as error:
        raise JUnitUnusable(f"{path} cannot be read: {error.strerror or type(error).__name__}") from error
    except expat.ExpatError as error:
        # Its words hold the position and no text of the file.
        raise JUnitUnusable(f"{path} is no whole XML file: {error}. Was the run cut off?") from error
    except (LookupError, ValueError):
        # Expat asks Python for encodings that it has not, and Python has no such one, or none of single bytes.
        raise JUnitUnusable(f"{path} is in an encoding that is not read; write it in UTF-8") from None
    except _Refused as error:
        raise JUnitUnusable(f"{path} {error}") from None
    return JUnitCounts(
        tests=total.tests,
        failures=total.failure,
        errors=total.error,
        skipped=total.skipped,
        digest=digest.hexdigest(),
        began_at=counter.began_at,
    )


class _Refused(Exception):
    """Why the file is refused, to follow its name."""


@dataclass(slots=True)
class _Suite:
    """What was counted in a suite so far, and what it says of itself."""

    tests: int = 0
    failure: int = 0
    error: int = 0
    skipped: int = 0
    says_failure: int = 0
    says_error: int = 0
    says_skipped: int = 0

    def add(self, inner: "_Suite") -> None:
        self.tests += inner.tests
        self.failure += max(inner.failure, inner.says_failure)
        self.error += max(inner.error, inner.says_error)
        self.skipped += max(inner.skipped, inner.says_skipped)


class _Counter:
    def __init__(self) -> None:
        self._parser = parser = expat.ParserCreate()
        parser.StartDoctypeDeclHandler = self._doctype
        parser.EntityDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        self._taken = 0
        self._open: list[str] = []
        self._suites = [_Suite()]
        self._test: str | None = None
        self._times: list[int | None] = []

    @property
    def began_at(self) -> int | None:
        known = [time for time in self._times if time is not None]
        return min(known) if known and len(known) == len(self._times) else None

    def take(self, chunk: bytes) -> None:
        self._taken += len(chunk)
        self._parser.Parse(chunk, False)
        if self._taken - max(0, self._parser.CurrentByteIndex) > _MAX_PIECE:
            most = _MAX_PIECE // 1024 // 1024
            raise _Refused(f"has a comment or a tag of more than {most} MiB; it is no JUnit report")

    def end(self) -> _Suite:
        self._parser.Parse(b"", True)
        return self._suites[0]

    @staticmethod
    def _doctype(*_: Any) -> None:
        raise _Refused("has a document type or entities, which no test report needs; it is not read")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        name = name.rpartition(":")[2]
        if len(self._open) >= _MAX_DEPTH:
            raise _Refused(f"has elements more than {_MAX_DEPTH} deep; it is no JUnit report")
        if not self._open and name not in _SUITES:
            raise _Refused("is no JUnit report: it does not begin with testsuites or testsuite")
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        if name in _SUITES:
            self._suites.append(_suite(attributes))
            if "timestamp" in attributes:
                self._times.append(_instant(attributes["timestamp"]))
        elif name == "testcase" and self._test is None:
            self._test = ""
            for said in ("status", "result"):
                self._outcome(_SAID.get(attributes.get(said, "").strip().lower(), ""))
        elif name in _OUTCOMES and parent == "testcase" and self._test is not None:
            self._outcome(name)
        elif name in ("error", "failure") and parent in _SUITES:
            # What went wrong outside of any test, for example while it was collected.
            self._suites[-1].error += 1

    def _outcome(self, name: str) -> None:
        """Of several outcomes of one test the worst stands."""
        if name and (not self._test or _OUTCOMES.index(name) < _OUTCOMES.index(self._test)):
            self._test = name

    def _end(self, name: str) -> None:
        name = self._open.pop()
        if name in _SUITES:
            inner = self._suites.pop()
            self._suites[-1].add(inner)
        elif name == "testcase" and self._test is not None and "testcase" not in self._open:
            suite = self._suites[-1]
            suite.tests += 1
            if self._test:
                setattr(suite, self._test, getattr(suite, self._test) + 1)
            self._test = None


def _suite(attributes: dict[str, str]) -> _Suite:
    return _Suite(
        says_failure=_count(attributes, "failures"),
        says_error=_count(attributes, "errors"),
        # A runner that knows both means different tests.
        says_skipped=_count(attributes, "skipped") + _count(attributes, "disabled"),
    )


def _count(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(name, "0").strip() or "0"
    if not (text.isascii() and text.isdigit() and len(text) <= 10) or int(text) > _MOST:
        raise _Refused(f"has a suite whose {name} is no count")
    return int(text)


def _instant(text: str) -> int | None:
    try:
        instant = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    if instant.tzinfo is None:
        return None
    micros = to_micros(instant)
    return micros if 0 <= micros <= _LATEST else None
