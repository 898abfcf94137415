"""The examples of docs/verdicts.md are run as they stand there, against a real broker and a real worker."""

import contextlib
import io
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.tables_on_kafka import WorkerProcess

from unmask.consumers.gate import Gate
from unmask.schemas.codes import AdmissionAnswer
from unmask.schemas.topic_admin import create_topics
from unmask.schemas.topics import Topics

pytestmark = pytest.mark.integration

PAGE = (Path(__file__).parents[2] / "docs" / "verdicts.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```python\n(.*?)```\n\n```\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def worker(kafka: str, namespace: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[WorkerProcess]:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka)
    monkeypatch.setenv("UNMASK_NAMESPACE", namespace)
    monkeypatch.setenv("UNMASK_OUTBOX_DIR", str(tmp_path / "outbox"))
    create_topics(kafka, Topics(namespace, events_partitions=2, table_partitions=2))
    running = WorkerProcess(kafka, namespace).wait_ready()
    yield running
    running.end(signal.SIGTERM)


def run(block: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block, "verdicts.md", "exec"), {})
    return out.getvalue()


def test_each_failure_mode_is_named_and_answered_as_the_page_says(worker: WorkerProcess) -> None:
    assert len(EXAMPLES) == 3
    for host, asking, says in EXAMPLES:
        run(host)
        match = re.search(r'gate\.admit\("(.*?)"\)', asking)
        assert match is not None
        deadline = time.monotonic() + 20
        with Gate() as gate:
            while gate.admit(match.group(1)).answer is AdmissionAnswer.NO_VERDICT:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        assert run(asking) == says
