"""Where the outbox is, and that there is none unless somebody asks for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from unmask.producers import EmitterSettings


def test_there_is_no_outbox_unless_a_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_OUTBOX_DIR", raising=False)
    assert EmitterSettings().outbox is None
    assert EmitterSettings.from_environment().outbox is None


def test_the_environment_names_it_where_nobody_else_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("UNMASK_OUTBOX_DIR", str(tmp_path / "box"))
    assert EmitterSettings.from_environment(namespace="shop").outbox == tmp_path / "box" / "shop.events"
    assert EmitterSettings.from_environment(outbox_dir=tmp_path).outbox == tmp_path / "unmask.events"
    assert EmitterSettings.from_environment(outbox_dir=None).outbox is None


def test_a_relative_folder_means_the_one_below_where_the_host_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = EmitterSettings(outbox_dir="box")  # type: ignore[arg-type]
    os.chdir("/")
    assert settings.outbox == tmp_path / "box" / "unmask.events"


@pytest.mark.parametrize(
    "given", [{"outbox_max_bytes": 1_000}, {"outbox_max_age_s": 7 * 86_400}, {"outbox_max_age_s": 1}]
)
def test_limits_that_cannot_work_are_refused(given: dict[str, int]) -> None:
    with pytest.raises(ValidationError, match=next(iter(given))):
        EmitterSettings(**given)  # type: ignore[arg-type]


def test_without_an_outbox_a_host_does_not_even_pay_for_the_import() -> None:
    program = (
        "import sys\n"
        "from unmask.producers import Emitter, EmitterSettings\n"
        "Emitter(EmitterSettings(bootstrap_servers='127.0.0.1:1')).close(0)\n"
        "print('sqlite3' in sys.modules, 'unmask.producers.outbox.store' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout.split(), done.stderr) == (["False", "False"], "")
