"""Apache Kafka as Maven delivers it: found in the cache folder, or fetched into it once."""

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from unmask.consumers.devbroker.errors import BrokerStartFailed, NoWayToRunBroker
from unmask.consumers.devbroker.folders import home_folder, locked

__all__ = ["KAFKA_VERSION", "find_java", "kafka_libraries", "missing_for_jvm"]

KAFKA_VERSION = "4.1.1"
_OLDEST_JAVA = 17
_POM = Path(__file__).with_name("pom.xml")
_FETCH_TIMEOUT = 600.0


def find_java() -> Path | None:
    """The `java` of `JAVA_HOME` or of the path, if it is 17 or newer."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else None
    found = found or shutil.which("java")
    return Path(found) if found and _java_major(Path(found)) >= _OLDEST_JAVA else None


def missing_for_jvm() -> str | None:
    """What this machine lacks to run the broker as a Java process, or None."""
    if find_java() is None:
        return f"no Java {_OLDEST_JAVA} or newer (neither JAVA_HOME nor the path has one)"
    if not _cached().is_dir() and shutil.which("mvn") is None:
        return f"no Maven (mvn) on the path to fetch Kafka {KAFKA_VERSION} with"
    return None


def kafka_libraries() -> Path:
    """The folder with Kafka's jars, fetched by Maven the first time.

    Raises `NoWayToRunBroker` without Java or Maven, `BrokerStartFailed` when Maven could not fetch them.
    """
    if (missing := missing_for_jvm()) is not None:
        raise NoWayToRunBroker(f"Kafka cannot run as a Java process here: {missing}.")
    target = _cached()
    with locked(target):
        if not target.is_dir():
            _fetch(target)
    return target


def _cached() -> Path:
    # Keyed by the pom's content too, so that a changed dependency is fetched rather than missed.
    digest = hashlib.sha256(_POM.read_bytes()).hexdigest()[:8]
    return home_folder() / f"kafka-{KAFKA_VERSION}-{digest}"


def _fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".kafka-") as scratch:
        libraries = Path(scratch) / "libraries"
        # A copy, since Maven may write beside the pom and an installed package is not a place to write to.
        shutil.copy(_POM, scratch)
        command = [
            "mvn",
            "-q",
            "-B",
            "dependency:copy-dependencies",
            f"-DoutputDirectory={libraries}",
            "-DincludeScope=runtime",
        ]
        try:
            subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True, timeout=_FETCH_TIMEOUT)
        except subprocess.CalledProcessError as error:
            said = (error.stdout + error.stderr).strip()[-2000:]
            raise BrokerStartFailed(f"Maven could not fetch Kafka {KAFKA_VERSION}; it said:\n{said}") from error
        except subprocess.TimeoutExpired as error:
            raise BrokerStartFailed(
                f"Maven did not fetch Kafka {KAFKA_VERSION} within {_FETCH_TIMEOUT:.0f} s; "
                "check that it reaches its repository, then try again."
            ) from error
        # Renamed when complete: an interrupted fetch never looks like a finished one.
        libraries.rename(target)


def _java_major(java: Path) -> int:
    try:
        run = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    named = re.search(r'version "(\d+)', run.stderr + run.stdout)
    return int(named.group(1)) if named else 0
