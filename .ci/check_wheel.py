"""Prove that an installed wheel is whole; run by `make wheel` in an environment with the base dependencies only."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path


def main() -> None:
    import unmask.consumers.devbroker
    import unmask.producers
    import unmask.schemas
    import unmask.streams

    for package in (unmask.schemas, unmask.producers, unmask.streams, unmask.consumers):
        home = Path(str(package.__file__))
        assert home.is_relative_to(sys.prefix), f"{home} is not the wheel's"
        assert home.with_name("py.typed").is_file(), f"{package.__name__} lost its py.typed"
    heavy = {"faust", "aiokafka", "aiohttp", "numpy", "typer", "opentelemetry"} & set(sys.modules)
    assert not heavy, f"importing the packages imported {sorted(heavy)}"

    contracts = list(Path(str(unmask.schemas.__file__)).parent.rglob("*.avsc"))
    assert contracts, "the wheel has no .avsc files"
    broker = files("unmask.consumers.devbroker")
    for name in ("pom.xml", "log4j2.properties", "docker-compose.yml"):
        assert (broker / name).is_file(), f"the wheel lost devbroker/{name}"
    page = Path(str(unmask.streams.__file__)).parent / "web/page/assets"
    for name in ("page.css", "live.js", "morph.js", "icon.svg"):
        assert (page / name).is_file(), f"the wheel lost {name} of the live page"

    script = Path(sys.prefix) / "bin" / "unmask"
    run = subprocess.run([script, "--help"], capture_output=True, text=True, check=False)
    assert run.returncode == 1, "without the cli extra the script must fail"
    assert "pip install 'unmask[cli]'" in run.stderr, run.stderr
    sys.stdout.write(f"the wheel is whole: {len(contracts)} contracts, no heavy import\n")


main()
