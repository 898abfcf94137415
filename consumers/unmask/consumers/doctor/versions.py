"""Which versions run here, and whether they are new enough."""

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

import confluent_kafka

from unmask.consumers.doctor.finding import Finding, Status

__all__ = ["check_versions"]

_LEAST_LIBRDKAFKA = (2, 12)
_OPTIONAL = ("faust-streaming", "aiokafka")


def check_versions() -> Iterator[Finding]:
    """Python (pip itself refuses one that is too old), this package, and the libraries that it stands on."""
    packages = {name: _version(name) for name in ("unmask", "confluent-kafka", "fastavro", "pydantic", *_OPTIONAL)}
    shown = ", ".join(f"{name} {found}" for name, found in packages.items() if found is not None)
    yield Finding("versions", Status.OK, f"Python {platform.python_version()}, {shown}")
    library = confluent_kafka.libversion()[0]
    if tuple(int(part) for part in library.split(".")[:2]) < _LEAST_LIBRDKAFKA:
        least = ".".join(map(str, _LEAST_LIBRDKAFKA))
        fix = f"pip install --upgrade 'confluent-kafka>={least}'"
        yield Finding("librdkafka", Status.FAILED, f"librdkafka is {library}, older than {least}", fix)
    else:
        yield Finding("librdkafka", Status.OK, f"librdkafka {library}")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
