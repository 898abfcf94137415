"""What the system tells of a process: CPU time and peak memory."""

import os
from pathlib import Path

__all__ = ["cpu_seconds", "machine_cpu_seconds", "peak_mb", "resident_mb"]

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process with all its threads, of ended children too. Raises OSError."""
    text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    fields = text[text.rindex(")") + 2 :].split()
    return sum(int(field) for field in fields[11:15]) / _TICKS


def machine_cpu_seconds() -> float:
    """Time that all cores together were busy since the machine's start, whoever used them; waiting counts as idle."""
    fields = Path("/proc/stat").read_text("utf-8").split("\n", 1)[0].split()[1:9]
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields)
    return (user + nice + system + irq + softirq + steal) / _TICKS


def peak_mb(pid: int) -> float:
    """The most memory that a process had resident so far, MB. Raises OSError."""
    return _status(pid, "VmHWM")


def resident_mb(pid: int) -> float:
    """The memory that a process has resident now, MB. Raises OSError."""
    return _status(pid, "VmRSS")


def _status(pid: int, name: str) -> float:
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0
