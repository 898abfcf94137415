"""Packs the code of a revision with an older contract into contract-N.tar.xz, for tests that run it beside this one.

    python tests/integration/growth/pack.py REVISION N

Only what a host, a worker and a gate may import is packed. The same revision always makes the same bytes.
"""

import io
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path

ROOTS = ("schemas", "producers", "streams", "consumers")
_CONSUMERS = "consumers/unmask/consumers/"
# Of the consumers the gate alone, and of the contract nothing that describes it to people.
_OF_CONSUMERS = tuple(
    _CONSUMERS + name for name in ("__init__.py", "gate/", "topic_reader.py", "topic_source.py", "unreadable.py")
)
_LEFT_OUT = ("schemas/unmask/schemas/describe/",)


def wanted(path: str) -> bool:
    """Whether a file of the revision is packed."""
    return not path.startswith(_LEFT_OUT) and (not path.startswith(_CONSUMERS) or path.startswith(_OF_CONSUMERS))


def pack(revision: str, target: Path) -> int:
    """Writes the archive; how many files it holds."""
    repository = Path(__file__).parents[3]
    command = ["git", "-C", str(repository), "archive", "--format=tar", revision, *ROOTS]
    out = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(subprocess.run(command, capture_output=True, check=True).stdout)) as source,
        tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        files = sorted(
            (m for m in source.getmembers() if m.isfile() and wanted(m.name)), key=lambda member: member.name
        )
        for member in files:
            entry = tarfile.TarInfo(member.name)
            entry.size = member.size
            archive.addfile(entry, source.extractfile(member))
    target.write_bytes(lzma.compress(out.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    return len(files)


if __name__ == "__main__":
    where = Path(__file__).with_name(f"contract-{int(sys.argv[2])}.tar.xz")
    print(f"{where.name}: {pack(sys.argv[1], where)} files, {where.stat().st_size} bytes")  # noqa: T201
