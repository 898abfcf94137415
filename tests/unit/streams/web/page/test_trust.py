"""Whom the page believes; that it cannot tell ends no worker."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from unmask.schemas.signing import KeyUse
from unmask.schemas.signing_keys import KeyFileUnusable, generate_key
from unmask.schemas.topics import Topics
from unmask.streams.settings import StreamSettings
from unmask.streams.tables.service import TablesService
from unmask.streams.web.page.trust import page_trust
from unmask.streams.worker import LEDGER, Worker


def test_without_keys_no_signature_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UNMASK_SIGNING_KEY", raising=False)
    monkeypatch.delenv("UNMASK_TRUSTED_KEYS", raising=False)
    assert page_trust(None, None) is None


def test_a_signature_of_a_trusted_key_is_looked_at(tmp_path: Path) -> None:
    generate_key(tmp_path / "key")
    trust = page_trust(tmp_path / "key", None)
    assert trust is not None
    assert trust.flaw(b"said", None, KeyUse.VERDICTS) == "it is not signed"


@pytest.mark.parametrize("given", [("bad", None), (None, "bad"), ("missing", None)])
def test_with_keys_that_cannot_be_used_nobody_is_believed_and_the_log_says_why(
    tmp_path: Path, given: tuple[str | None, str | None], caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad").write_text("no key")
    with caplog.at_level(logging.WARNING):
        trust = page_trust(*(None if name is None else tmp_path / name for name in given))
    assert trust is not None
    assert trust.flaw(b"said", {"algorithm": "ed25519", "key_id": "k", "value": b""}, KeyUse.VERDICTS) is not None
    assert "the page believes no verdict" in caplog.text


def test_a_worker_that_only_counts_serves_its_page_whatever_its_keys_are(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("no key")
    settings = StreamSettings(signing_key=tmp_path / "bad")
    view: Any = SimpleNamespace(read=None)
    page = Worker(settings, Topics("shop"), (LEDGER,))._page(view)
    assert "/" in [route.path for route in page.routes()]
    with pytest.raises(KeyFileUnusable):
        TablesService(settings, Topics("shop"))
