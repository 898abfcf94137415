"""What a host decides about its emitter, checked once at the start."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from unmask.producers.report import FURTHER_FAMILIES
from unmask.schemas.codes import Family
from unmask.schemas.scope import Scope
from unmask.schemas.tokens import is_token
from unmask.schemas.topics import DEFAULT_NAMESPACE, Topics, namespace_from_environment

__all__ = ["EmitterSettings"]


def _token(text: str) -> str:
    if not is_token(text):
        raise ValueError("must be 1 to 64 letters, digits, '_', '-' or '.', and nothing like a credential")
    return text


Token = Annotated[str, AfterValidator(_token)]


def _further(family: Family) -> Family:
    if family not in FURTHER_FAMILIES:
        raise ValueError(f"must be one of {', '.join(FURTHER_FAMILIES)}: every host can tell of the others")
    return family


class EmitterSettings(BaseModel):
    """Settings of an emitter. Times are in the unit that their name ends in; limits are per emitter."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bootstrap_servers: str | None = None
    """`host:port`, several divided by commas; KAFKA_BOOTSTRAP_SERVERS where it is not given."""
    namespace: str = DEFAULT_NAMESPACE
    """What topic names begin with."""
    client_options: Mapping[str, Any] = Field(default_factory=dict)
    """Further options of librdkafka, for example `security.protocol`."""

    release_line: Token = "unreleased"
    """What is deployed here; counts of different release lines are never added up."""
    event_contract: Token = "unmask.v1"
    telemetry_backend: Token = "kafka"
    redaction_policy: Token = "metadata_only"
    switchboard: Token = "default"
    """How capabilities are wired to routes in this host."""

    heartbeat_ms: int = Field(default=10_000, ge=100, le=3_600_000)
    """The longest time between two batches; stated in every batch, so that silence can be told from idleness."""
    flush_interval_ms: int = Field(default=1_000, ge=5, le=3_600_000)
    """How long an attempt waits for its batch. Fallbacks, masked errors and teardowns do not wait."""
    urgent_spacing_ms: int = Field(default=20, ge=0, le=10_000)
    """The shortest time between two batches, so that a storm of fallbacks becomes few records."""

    buffer_limit: int = Field(default=100_000, ge=1, le=10_000_000)
    """Events of one family that wait for a batch at most; what exceeds it is dropped as `buffer_full`."""
    max_batch_events: int = Field(default=10_000, ge=1, le=1_000_000)
    """Attempts of one record at most; any other event weighs as much as 20."""
    max_record_bytes: int = Field(default=900_000, ge=4_096, le=1_000_000)
    """Bytes of one record at most. The events topic takes 1,048,576 with framing."""
    max_unacknowledged: int = Field(default=64, ge=1, le=10_000)
    """Batches that may wait for the broker; then no more are cut, and events wait in the buffer."""
    delivery_timeout_ms: int = Field(default=30_000, ge=1_000, le=600_000)
    """How long the client tries to deliver a batch before it is handed back and produced again later."""
    close_timeout_ms: int = Field(default=5_000, ge=0, le=600_000)
    """How long close() waits by default, at the end of the process too."""
    outbox_dir: Annotated[Path, AfterValidator(Path.absolute)] | None = None
    """Where batches outlive the process: a folder on a local disk, one for each host application. Without one there is
    no outbox, and what has not been delivered dies with the process."""
    outbox_max_bytes: int = Field(default=256_000_000, ge=1_000_000, le=1_000_000_000_000)
    """Bytes of batches on the disk, for each emitter; what exceeds them is dropped as `outbox_full`."""
    outbox_max_age_s: int = Field(default=259_200, ge=60, le=518_400)
    """Seconds for which a batch is kept; an older one is dropped as `outbox_expired`. The stream remembers an emitter
    for a week, so that nothing may be sent again after that."""
    witnesses: tuple[Annotated[Family, AfterValidator(_further)], ...] = ()
    """Families beyond the first four that this host can tell of, though it may have nothing to tell yet, of
    route_selection, delegation_progress and delegation_effect. What it has recorded once need not be named."""
    label_limit: int = Field(default=256, ge=1, le=100_000)
    """Distinct labels of one kind; further ones are published as `overflow`."""

    @classmethod
    def from_environment(cls, **given: Any) -> Self:
        """Settings with what UNMASK_NAMESPACE, UNMASK_RELEASE_LINE, UNMASK_OUTBOX_DIR and UNMASK_WITNESSES (families,
        divided by commas) say, where it is not given.
        """
        defaults: dict[str, Any] = {"namespace": namespace_from_environment()}
        if release_line := os.environ.get("UNMASK_RELEASE_LINE"):
            defaults["release_line"] = release_line
        if outbox_dir := os.environ.get("UNMASK_OUTBOX_DIR"):
            defaults["outbox_dir"] = outbox_dir
        if witnesses := os.environ.get("UNMASK_WITNESSES"):
            defaults["witnesses"] = tuple(name.strip() for name in witnesses.split(",") if name.strip())
        return cls(**{**defaults, **given})

    @property
    def scope(self) -> Scope:
        """Release line and composition."""
        return Scope(
            self.release_line, self.event_contract, self.telemetry_backend, self.redaction_policy, self.switchboard
        )

    @property
    def outbox(self) -> Path | None:
        """The folder of the outboxes of this topic's emitters: what is left for one topic must not go to another."""
        return None if self.outbox_dir is None else self.outbox_dir / self.topic

    @property
    def topic(self) -> str:
        """Name of the events topic."""
        return Topics(self.namespace).events.name
