"""Values are framed by the registry only where one is set."""

import builtins
import sys
from typing import Any

import pytest

from unmask.schemas.codec import encode
from unmask.schemas.framing import RegistryClientMissing, SingleObjectFraming, framing_from_environment
from unmask.schemas.registry import RegistryFraming
from unmask.schemas.testing import sample


@pytest.mark.parametrize("url", [None, "", " "])
def test_without_a_registry_values_are_single_object_encoded(url: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCHEMA_REGISTRY_URL", raising=False)
    if url is not None:
        monkeypatch.setenv("SCHEMA_REGISTRY_URL", url)
    framing = framing_from_environment()
    assert isinstance(framing, SingleObjectFraming)
    data = framing.encode("alert", sample("alert"))
    assert data == encode("alert", sample("alert"))
    assert framing.decode_any(("window", "alert"), data) == ("alert", sample("alert"))


def test_with_a_registry_its_framing_is_used_with_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCHEMA_REGISTRY_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("UNMASK_REGISTRY_BASIC_AUTH_USER_INFO", "user:password")
    monkeypatch.setenv("UNMASK_REGISTRY_TIMEOUT", "0.5")
    framing = framing_from_environment()
    assert isinstance(framing, RegistryFraming)
    config: dict[str, Any] = framing._client.config()  # type: ignore[no-untyped-call]  # it has no annotations
    assert config["url"] == "http://127.0.0.1:9"
    assert config["timeout"] == 0.5
    assert config["max.retries"] == 0
    assert config["basic.auth.user.info"] == "user:password"


def test_a_missing_registry_client_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def without_registry(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "confluent_kafka.schema_registry":
            raise ModuleNotFoundError("no authlib", name="authlib")
        return genuine(name, *args, **kwargs)

    monkeypatch.setenv("SCHEMA_REGISTRY_URL", "http://127.0.0.1:9")
    monkeypatch.delitem(sys.modules, "unmask.schemas.registry")
    monkeypatch.setattr(builtins, "__import__", without_registry)
    with pytest.raises(RegistryClientMissing, match=r"unmask\[registry\]"):
        framing_from_environment()
