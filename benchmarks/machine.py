"""The machine that figures were measured on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

__all__ = ["machine_facts"]


def machine_facts() -> dict[str, str]:
    """What decides how fast something runs here."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "confluent-kafka": version("confluent-kafka"),
        "fastavro": version("fastavro"),
        "faust-streaming": version("faust-streaming"),
        "numpy": version("numpy"),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
