"""The fold: (state, batch at offset) -> state. No clock, no I/O; everything it decides, it decides from the log.

A batch is either the next of its emitter, or fills a part of what was missing, or leaves a gap, or was seen before.
"""

from typing import Any

from unmask.schemas.codes import FlawCause
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.accounting import Account, losses_between, read_account, stretch_cause
from unmask.streams.ledger.counting import BatchCounter
from unmask.streams.ledger.flaws import clear_stretch, flag_partition, flag_stretch
from unmask.streams.ledger.rules import SKEW_US, FoldRules
from unmask.streams.ledger.session_fold import abandon_sessions, fold_sessions
from unmask.streams.ledger.state import Emitter, Gap, PartitionState

__all__ = ["QuarantineFlood", "fold_batch", "fold_unreadable", "note_offset"]

_UNKNOWN_BATCH_US = 10 * MICROS  # the default heartbeat: the longest time that an unreadable batch usually covers


class QuarantineFlood(Exception):
    """So many unreadable records in a row that the fault is in the reader, the topic or a whole fleet of writers.

    The worker stops instead of diverting everything. Look at the reasons with a consumer on the quarantine topic,
    upgrade the worker if they are UNKNOWN_FINGERPRINT, or raise --quarantine-limit to go past them.
    """

    def __init__(self, partition: int, offset: int, run: int, reason: str) -> None:
        super().__init__(
            f"{run} records in a row could not be read, up to offset {offset} of partition {partition} (last reason: "
            f"{reason}); the worker stops rather than divert everything. Upgrade the worker if the reason is "
            f"UNKNOWN_FINGERPRINT; otherwise find the writer, or raise --quarantine-limit to go past these records"
        )


def note_offset(state: PartitionState, rules: FoldRules, offset: int, arrival: int) -> None:
    """Moves to the record at `offset`. Offsets that were jumped over make the windows between lossy."""
    if offset > state.next_offset and state.previous:
        flag_partition(state, rules, FlawCause.SKIPPED, state.previous, arrival, state.next_offset, offset)
    state.next_offset = offset + 1
    state.newest = max(state.newest, arrival)
    state.previous = max(state.previous, arrival)


def fold_unreadable(state: PartitionState, rules: FoldRules, offset: int, arrival: int, record: dict[str, Any]) -> None:
    """Puts an unreadable record aside; `record` is its quarantine entry. Raises QuarantineFlood."""
    note_offset(state, rules, offset, arrival)
    state.quarantine_run += 1
    if state.quarantine_run >= rules.quarantine_limit:
        raise QuarantineFlood(state.partition, offset, state.quarantine_run, record["reason"])
    state.touched.quarantined.append(record)
    emitter = state.emitters.get(record["key"] or "")
    # A batch covers the time since its emitter's last cut; of an unknown emitter nothing is known but the usual.
    since = emitter.last_cut if emitter is not None else arrival - _UNKNOWN_BATCH_US
    flag_partition(state, rules, FlawCause.QUARANTINED, since, arrival, offset, offset + 1)


def fold_batch(state: PartitionState, rules: FoldRules, offset: int, arrival: int, batch: dict[str, Any]) -> int:
    """Folds one checked batch; `arrival` is the broker's time of the record. Returns how many events it counted."""
    note_offset(state, rules, offset, arrival)
    state.quarantine_run = 0
    said = batch["emitter"]
    emitter_id, seq = said["emitter_id"], batch["batch_seq"]
    emitter = state.emitters.get(emitter_id)
    if emitter is None:
        started = min(said["started_at"], batch["sent_at"], arrival + SKEW_US)
        emitter = Emitter(Scope(**said["scope"]), started, said["heartbeat_ms"] * 1000, last_cut=started)
        state.emitters[emitter_id] = emitter
    emitter.last_arrival = max(emitter.last_arrival, arrival)
    state.touched.emitters.add(emitter_id)
    counter = BatchCounter(state, rules, emitter.scope, arrival, (emitter_id, seq))
    account = read_account(batch)
    if seq <= emitter.last_seq:
        gap = next((gap for gap in emitter.gaps if gap.after < seq < gap.before), None)
        if gap is None:
            counter.duplicate()
            return 0
        _fill(state, rules, emitter_id, emitter, gap, batch, account)
    else:
        _advance(state, rules, emitter_id, emitter, batch, account, counter, arrival)
    counter.events(batch)
    fold_sessions(state, rules, emitter_id, emitter, batch, arrival)
    for index, fallback in enumerate(batch["kernel_fallbacks"]):
        state.touched.fallbacks.append(
            {"emitter_id": emitter_id, "batch_seq": seq, "index": index, "scope": emitter.scope._asdict()} | fallback
        )
    if batch["kernel_fallbacks"] or batch["masked_errors"] or batch["session_teardowns"]:
        state.touched.urgent = True
    if batch["closing"]:
        emitter.closed = True
    if emitter.closed:
        abandon_sessions(state, emitter_id, emitter, emitter.last_cut, arrival)
        emitter.open_sessions.clear()
    return sum(account[2].values())


def _advance(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, batch: dict[str, Any],
    account: Account, counter: BatchCounter, arrival: int,
) -> None:  # fmt: skip
    """The emitter's newest batch so far: looks back at the stretch since the last one known."""
    shipped, dropped, events = account
    seq, after = batch["batch_seq"], emitter.last_seq
    cut_after = emitter.last_cut
    sent = batch["sent_at"]
    # A host whose clock is ahead must not be taken to have accounted for time that has not come yet.
    cut = max(cut_after, sent if sent <= arrival + SKEW_US else arrival)
    shipped_before = _less(shipped, events)
    losses = losses_between(emitter.shipped, emitter.dropped, shipped_before, dropped)
    if seq > after + 1:
        emitter.gaps.append(Gap(after, seq, emitter.shipped, emitter.dropped, shipped_before, dropped, cut_after, cut))
    if losses:
        cause = stretch_cause(after, seq, losses)
        flag_stretch(state, rules, emitter_id, emitter, after, seq, cut_after, cut, cause, losses)
    emitter.last_seq, emitter.last_cut = seq, cut
    emitter.shipped, emitter.dropped = shipped, dropped
    counter.witness(cut_after, cut, first=after == 0)


def _fill(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, gap: Gap, batch: dict[str, Any],
    account: Account,
) -> None:  # fmt: skip
    """A batch that was missing: what lay on both sides of it is looked at anew."""
    shipped, dropped, events = account
    seq = batch["batch_seq"]
    cut = min(max(batch["sent_at"], gap.cut_after), gap.cut_before)
    left = Gap(
        gap.after, seq, gap.shipped_after, gap.dropped_after, _less(shipped, events), dropped, gap.cut_after, cut
    )
    right = Gap(seq, gap.before, shipped, dropped, gap.shipped_before, gap.dropped_before, cut, gap.cut_before)
    losses = _losses(gap)
    if losses:
        cause = stretch_cause(gap.after, gap.before, losses)
        clear_stretch(state, rules, emitter_id, emitter, gap.after, gap.before, gap.cut_after, gap.cut_before, cause)
    emitter.gaps.remove(gap)
    for part in (left, right):
        if part.before > part.after + 1:
            emitter.gaps.append(part)
        losses = _losses(part)
        if losses:
            cause = stretch_cause(part.after, part.before, losses)
            flag_stretch(
                state, rules, emitter_id, emitter, part.after, part.before, part.cut_after, part.cut_before, cause,
                losses,
            )  # fmt: skip


def _losses(gap: Gap) -> list[dict[str, Any]]:
    return losses_between(gap.shipped_after, gap.dropped_after, gap.shipped_before, gap.dropped_before)


def _less(shipped: dict[str, int], events: dict[str, int]) -> dict[str, int]:
    """The account when the batch began. Zeros are left out, as in accounts of families never recorded."""
    if not events:
        return shipped
    before = dict(shipped)
    for family, n in events.items():
        rest = before.get(family, 0) - n
        if rest:
            before[family] = rest
        else:
            before.pop(family, None)
    return before
