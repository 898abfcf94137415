"""The page for hosts says what is: its examples run, and print what it says."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from unmask.producers import equivalence, get_sink, port, shapes
from unmask.producers.store import MemoryStore, StoredBatch
from unmask.schemas.codec import decode
from unmask.schemas.recovery import overlay

PAGE = Path(__file__).parents[3] / "docs" / "host-sdk.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[StoredBatch]:
    """What the page's emitter cuts, on a host without a broker."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    for name in (
        "UNMASK_NAMESPACE",
        "UNMASK_RELEASE_LINE",
        "UNMASK_OUTBOX_DIR",
        "UNMASK_WITNESSES",
        "SCHEMA_REGISTRY_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(port, "_sink", get_sink())
    kept: list[StoredBatch] = []
    put = MemoryStore.put

    def keep(self: MemoryStore, batch: StoredBatch) -> None:
        kept.append(batch)
        put(self, batch)

    monkeypatch.setattr(MemoryStore, "put", keep)
    return kept


def test_every_example_runs_and_prints_what_the_page_says(stored: list[StoredBatch]) -> None:
    blocks = _BLOCK.findall(PAGE.read_text())
    assert len(blocks) > 10
    names: dict[str, Any] = {"__name__": "page"}
    for source, expected in blocks:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(compile(source, str(PAGE), "exec"), names)
        assert printed.getvalue() == expected, source
        names["emitter"]._life.cut()
    batches = [decode("event_batch", batch.data) for batch in stored]
    masked: dict[str, list[dict[str, Any]]] = {}
    for batch in batches:
        for each in batch["masked_errors"]:
            masked.setdefault(each["session_id"], []).append(each)
    (first,) = masked["briefing-17"]
    assert (first["masked_upstream_signature"], first["fallback_execution_receipt"]) == (
        "TIMEOUT_5000ms", "mirror-EURUSD",
    )  # fmt: skip
    assert [each["masked_upstream_signature"] for each in masked["briefing-18"]] == ["NOT_ATTEMPTED"]
    assert [each["masked_upstream_signature"] for each in masked["briefing-25"]] == ["TIMEOUT_5000ms"] * 2
    same, simpler = masked["briefing-26"]
    assert (same["equivalence"], same["primary_shape"]) == ("bit_for_bit", same["fallback_shape"])
    assert (simpler["equivalence"], simpler["primary_shape"] != simpler["fallback_shape"]) == ("different", True)
    seen = overlay([each for batch in batches for each in batch["route_selections"]])
    assert (len(seen.recoveries), seen.findings, seen.user_profile) == (4, (), "large")
    ended = {each["session_id"] for batch in batches for each in batch["session_teardowns"]}
    assert ended == {f"briefing-{number}" for number in range(17, 29)}


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    page = " ".join(PAGE.read_text().split())
    digests, told = equivalence, shapes
    assert f"{digests.DEEPEST} levels, {digests.MOST_VALUES:,} values or {digests.MOST_BYTES:,} bytes" in page
    assert (
        f"Looked at are {told.DEEPEST} levels, the first {told.MOST_ITEMS} items of an array (merged), "
        f"{told.MOST_FIELDS} fields of an object and {told.MOST_VALUES:,} values" in page
    )
