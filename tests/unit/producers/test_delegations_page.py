"""The page on delegations says what is: its Python runs without a broker, and prints what it says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from unmask.producers.delegation import book, keeper
from unmask.schemas.breaker import BreakerState, signals
from unmask.schemas.codes import SignalDoubt

PAGE = (Path(__file__).parents[3] / "docs" / "delegations.md").read_text("utf-8")
_BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    for name in ("UNMASK_NAMESPACE", "UNMASK_OUTBOX_DIR", "UNMASK_WITNESSES", "SCHEMA_REGISTRY_URL"):
        monkeypatch.delenv(name, raising=False)


def test_every_example_runs_and_prints_what_the_page_says(no_broker: None) -> None:
    blocks = _BLOCK.findall(PAGE)
    assert len(blocks) == 3
    names: dict[str, Any] = {"__name__": "page"}
    try:
        for source, expected in blocks:
            printed = StringIO()
            with redirect_stdout(printed):
                exec(compile(source, "delegations.md", "exec"), names)
            assert printed.getvalue() == expected, source
    finally:
        names["emitter"].close(0)


def test_the_limits_and_reasons_on_the_page_are_those_of_the_code() -> None:
    state = BreakerState()
    assert f"After {state.limit} successful calls" in PAGE
    assert f"| {state.memory} states are remembered" in PAGE
    assert f"| {signals.MOST_SIGNALS} signals for each delegation" in PAGE
    assert f"{keeper._MOST_DESKS:,} delegations in memory" in PAGE
    assert f"last {book._KEPT_S // 86_400} days" in PAGE
    told = {doubt for doubt in SignalDoubt if f"| `{doubt}` |" in PAGE}
    assert told == set(SignalDoubt) - {SignalDoubt.UNKNOWN_DOUBT}
