"""Programs of Debian packages that tests drive: found, or installed where that is allowed, or the test is skipped."""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

__all__ = ["debian_command"]

_INSTALL = Path(__file__).resolve().parents[1] / "deploy/ci/install-debian-packages"
_ALLOWED = "UNMASK_TEST_APT"


def debian_command(name: str) -> str:
    """The path of a program. Skips the test where it is not to be had, and says why."""
    if (found := shutil.which(name)) is not None:
        return found
    reason = _install()
    if (found := shutil.which(name)) is not None:
        return found
    pytest.skip(f"{name} is not here: {reason}")


@cache
def _install() -> str:
    """Installs what is missing, once for a run; why it could not be."""
    allowed = os.environ.get(_ALLOWED, "1" if os.geteuid() == 0 else "0")
    if allowed != "1":
        return f"run {_INSTALL.relative_to(_INSTALL.parents[2])}, or set {_ALLOWED}=1"
    if shutil.which("apt-get") is None:
        return "there is no apt-get"
    done = subprocess.run([_INSTALL], capture_output=True, text=True, timeout=600, check=False)
    return "its package does not bring it" if done.returncode == 0 else done.stderr.strip()[-300:]
