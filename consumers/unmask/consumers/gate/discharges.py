"""What the admissions topic says of directives that were carried out, or set aside by an operator, by session.

Most of that topic are questions, which matter to nobody here; they are told apart by one byte, before anything is read.
"""

from collections.abc import Collection

from unmask.consumers.gate.discharge import DISCHARGING, Discharge
from unmask.consumers.gate.followed import FollowedTopic
from unmask.consumers.topic_reader import Row
from unmask.consumers.topic_source import TopicSource
from unmask.schemas.codec import HEADER_LENGTH, headers
from unmask.schemas.codes import AdmissionStep
from unmask.schemas.errors import DecodeError
from unmask.schemas.partitioner import partition_for
from unmask.schemas.signing import Trust, admission_flaw
from unmask.schemas.wire import decode

__all__ = ["DischargesView", "may_discharge"]

_STEPS = {list(AdmissionStep).index(step) for step in DISCHARGING}


class DischargesView(FollowedTopic):
    """The discharges of all sessions of some partitions, or of one session. Records that `trust` refuses are none."""

    content = "admissions"

    def __init__(
        self,
        source: TopicSource,
        *,
        partitions: Collection[int] | None = None,
        only: str | None = None,
        trust: Trust | None = None,
    ) -> None:
        self._only = None if only is None else only.encode()
        self._trust = trust
        self._discharges: dict[bytes, dict[str, Discharge]] = {}
        super().__init__(source, partitions=partitions, briefly=only is not None)

    def of(self, session_id: str, digest: str, *, mutating: bool) -> Discharge | None:
        """What was recorded of this very verdict, of use to a successor of this kind; None where nothing was."""
        with self._changed:
            found = self._discharges.get(session_id.encode(), {})
            usable = found.get(digest), None if mutating else found.get(_for_readers(digest))
        return next((discharge for discharge in usable if discharge is not None), None)

    def _begin(self, partitions: Collection[int]) -> None:
        self._discharges = {}

    def _keep(self, row: Row) -> None:
        if not row.key or (self._only is not None and row.key != self._only):
            return
        # One on a partition that its key does not hash to was not put there by a gate.
        if row.value is None or not may_discharge(row.value):
            return
        if partition_for(row.key, self._partition_count) != row.partition:
            return
        discharge = self._read(row.key, row.value)
        if discharge is not None:
            reader_only = discharge.step is AdmissionStep.OVERRIDDEN and not discharge.mutating
            name = _for_readers(discharge.digest) if reader_only else discharge.digest
            self._discharges.setdefault(row.key, {}).setdefault(name, discharge)

    def _read(self, key: bytes, value: bytes) -> Discharge | None:
        try:
            record = decode("admission", value)
            session_id = key.decode()
        except (DecodeError, UnicodeDecodeError):
            return None
        if record["step"] not in DISCHARGING or record["verdict_digest"] is None:
            return None
        if admission_flaw(record, session_id=session_id, topic=self._source.topic, trust=self._trust) is not None:
            return None
        return Discharge(
            AdmissionStep(record["step"]),
            record["verdict_digest"],
            record["admission_id"],
            record["occurred_at"],
            record["mutating"],
            record["by"],
            record["reason_code"],
        )


def may_discharge(value: bytes) -> bool:
    """Whether an admission's bytes are of a step that discharges, or of a version whose bytes are not known here."""
    if value[:HEADER_LENGTH] not in headers("admission"):
        return True
    try:
        position = _after_text(value, _after_text(value, HEADER_LENGTH))
        # The step's symbol follows admission_id and session_id; the first symbols take one byte.
        return value[position] >> 1 in _STEPS or value[position] & 0x80 != 0
    except IndexError:
        return False


def _after_text(value: bytes, position: int) -> int:
    """Where the text that begins at `position` ends."""
    length, shift = 0, 0
    while True:
        byte = value[position]
        position += 1
        length |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return position + (length >> 1)
        shift += 7


def _for_readers(digest: str) -> str:
    return f"{digest} readers"
