"""The peers' environments: built once, each optional; what cannot be built is named with its reason."""

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from benchmarks.compare.systems import JAVA, PEER, System

__all__ = ["BUILD", "PEERS", "command_of", "missing"]

PEERS = Path(__file__).parent.parent / "peers"
BUILD = PEERS.parent.parent / "build" / "bench"
_VENV = BUILD / "peers"
_INSTALL_S = 600
_OPENS = ("--add-opens=java.base/java.util=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")


def missing(system: System) -> str:
    """Why a system cannot run here, its environment being built if need be; empty where it can."""
    if system.kind == PEER:
        return _python_missing()
    return _java_missing(system.job) if system.kind == JAVA else ""


def command_of(system: System, state: Path, environment: dict[str, str]) -> list[str]:
    """How it is started. Prepares what must stand before it starts."""
    if system.kind == JAVA:
        heap = "2g" if system.job == "flink" else "1g"
        classes = f"{BUILD / system.job}/peer.jar:{BUILD / system.job}/lib/*"
        return ["java", f"-Xmx{heap}", *_OPENS, "-cp", classes, "bench.CountJob", *system.arguments]
    python = str(_VENV / "bin" / "python") if system.kind == PEER else sys.executable
    if system.name == "bytewax":
        recovery = state / "recovery"
        recovery.mkdir()
        subprocess.run([python, "-m", "bytewax.recovery", str(recovery), "1"], check=True, env=environment)
        return [python, "-m", "bytewax.run", "bytewax_job", "-r", str(recovery), "-s", "10", "-b", "0"]
    return [python, str(PEERS / system.job), *system.arguments]


@cache
def _python_missing() -> str:
    wanted = (PEERS / "requirements.txt").read_text("utf-8")
    stamp = _VENV / "installed.txt"
    if stamp.exists() and stamp.read_text("utf-8") == wanted:
        return ""
    python = str(_VENV / "bin" / "python")
    make = [sys.executable, "-m", "venv", "--clear", str(_VENV)]
    install = [python, "-m", "pip", "install", "--quiet", "--requirement", str(PEERS / "requirements.txt")]
    problem = _run(make, PEERS) or _run(install, PEERS)
    if not problem:
        stamp.write_text(wanted, "utf-8")
    return problem


@cache
def _java_missing(project: str) -> str:
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    sources = [path for path in (PEERS / project).rglob("*") if path.is_file()]
    jar = BUILD / project / "peer.jar"
    if jar.exists() and jar.stat().st_mtime >= max(path.stat().st_mtime for path in sources):
        return ""
    return _run(["mvn", "--quiet", "--batch-mode", "package"], PEERS / project)


def _run(command: list[str], folder: Path) -> str:
    """The last line that it says where it fails."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{command[0]}: {type(error).__name__}"
    if done.returncode == 0:
        return ""
    said = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return f"{Path(command[0]).name} failed: {said[-1] if said else done.returncode}"
