"""The fold: (state, batch at offset) -> state. No clock, no I/O; everything it decides, it decides from the log.

A batch is either the next of its emitter, or fills a part of what was missing, or leaves a gap, or was seen before.
"""

from collections.abc import Iterable
from typing import Any

from unmask.schemas.codes import FlawCause
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.accounting import WORK_FAMILIES, Account, losses_between, read_account, stretch_cause
from unmask.streams.ledger.counting import BatchCounter, count_known
from unmask.streams.ledger.flaws import clear_stretch, flag_partition, flag_stretch
from unmask.streams.ledger.identity import forget_skipped, has_other_content, is_another_life, refuse
from unmask.streams.ledger.rules import SKEW_US, FoldRules
from unmask.streams.ledger.session_evidence import touch_sessions
from unmask.streams.ledger.session_fold import fold_sessions
from unmask.streams.ledger.session_life import leave_sessions
from unmask.streams.ledger.state import RECENT, Beyond, Drops, Emitter, Gap, PartitionState, Shipped

__all__ = ["QuarantineFlood", "fold_batch", "fold_unreadable", "skip_to"]

_OF_SESSIONS = (
    "session_openings", "masked_errors", "kernel_fallbacks", "session_teardowns", "route_selections",
    "delegation_progress", "delegation_effects",
)  # fmt: skip
_URGENT = ("kernel_fallbacks", "masked_errors", "session_teardowns", "route_selections", "delegation_effects")
_UNKNOWN_BATCH_US = 10 * MICROS  # the default heartbeat: the longest time that an unreadable batch usually covers
_LONG_BATCH_US = 3600 * MICROS  # what lies further back its emitter's own account tells, for its own scope alone


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


def skip_to(state: PartitionState, rules: FoldRules, offset: int, at: int) -> None:
    """The records below `offset` are gone, unread; `at` is a broker time at which they still were or had been.

    Their batches may tell of any time before that. Where nothing was read before, no window up to then is proven.
    """
    since = state.previous or at - rules.emitter_horizon_us
    flag_partition(state, rules, FlawCause.SKIPPED, since, at, state.next_offset, offset)
    state.next_offset = offset


def fold_unreadable(state: PartitionState, rules: FoldRules, offset: int, arrival: int, record: dict[str, Any]) -> None:
    """Puts an unreadable record aside; `record` is its quarantine entry. Raises QuarantineFlood, changing nothing."""
    run = state.quarantine_run + 1
    if run >= rules.quarantine_limit:
        raise QuarantineFlood(state.partition, offset, run, record["reason"])
    _note(state, offset, arrival)
    state.quarantine_run = run
    state.touched.quarantined.append(record)
    emitter = state.emitters.get(record["key"] or "")
    # A batch covers the time since its emitter's last cut; of an unknown emitter nothing is known but the usual.
    since = arrival - _UNKNOWN_BATCH_US
    if emitter is not None:
        since = max(emitter.last_cut, arrival - _LONG_BATCH_US)
    flag_partition(state, rules, FlawCause.QUARANTINED, since, arrival, offset, offset + 1)


def fold_batch(state: PartitionState, rules: FoldRules, offset: int, arrival: int, batch: dict[str, Any]) -> int:
    """Folds one checked batch; `arrival` is the broker's time of the record. Returns how many events it counted."""
    _note(state, offset, arrival)
    state.quarantine_run = 0
    said, seq, sent = batch["emitter"], batch["batch_seq"], batch["sent_at"]
    emitter_id, digest = said["emitter_id"], batch.get("digest")
    emitter = state.emitters.get(emitter_id)
    if emitter is None:
        emitter = state.emitters[emitter_id] = _met(batch, arrival)
        state.live.add(emitter_id)
    elif said is not emitter.said and is_another_life(emitter, said):
        state.touched.emitters.add(emitter_id)
        refuse(state, rules, emitter_id, emitter, batch, arrival)
        return 0
    state.touched.emitters.add(emitter_id)
    gap = None
    if seq <= emitter.last_seq:
        gap = next((gap for gap in emitter.gaps if gap.after < seq < gap.before), None)
        if gap is None and has_other_content(emitter, seq, digest):
            refuse(state, rules, emitter_id, emitter, batch, arrival)
            return 0
    if arrival > emitter.last_arrival:
        emitter.last_arrival = arrival
    if gap is None and seq <= emitter.last_seq:
        BatchCounter(state, rules, emitter.scope, (emitter_id, seq)).duplicate(arrival)
        return 0
    # What a batch that was read quickly says of itself, where it holds nothing but attempts.
    _, _, quiet = batch.get("summary") or (0, 0, None)
    account = quiet or read_account(batch)
    if gap is None:
        after, cut_after = emitter.last_seq, emitter.last_cut
        # A host whose clock is ahead must not be taken to have accounted for time that has not come yet.
        ahead = sent > arrival + SKEW_US
        cut = max(cut_after, arrival if ahead else sent)
        _follow(state, rules, emitter_id, emitter, batch, account, cut, ahead=ahead)
        new = batch.get("witnesses") and _new_witnesses(emitter, batch["witnesses"])
        if after == 0 or new or cut_after // rules.grain_us != cut // rules.grain_us:
            counter = BatchCounter(state, rules, emitter.scope, (emitter_id, seq))
            counter.open(cut_after, cut, first=after == 0)
            _witness(emitter, counter, new or (), cut_after, cut)
    else:
        ahead = gap.ahead and sent > gap.cut_before
        cut = min(max(sent, gap.cut_after), gap.cut_before)
        _fill(state, rules, emitter_id, emitter, gap, seq, account, cut, ahead=ahead)
    if seq > emitter.last_seq - RECENT:
        emitter.recent[seq % RECENT] = digest
    # What a batch counts must lie within its own stretch: had it been lost, only the windows of that were flawed.
    latest, instead = (cut, cut) if ahead else (max(arrival + SKEW_US, cut), arrival)
    if quiet is None or not count_known(state, rules, emitter.scope, batch, latest):
        BatchCounter(state, rules, emitter.scope, (emitter_id, seq)).events(batch, latest=latest, instead=instead)
    if quiet is None:
        moved = _within(batch, cut) if ahead else batch
        fold_sessions(state, rules, emitter_id, emitter, moved, arrival, late=gap is not None)
        _tell(state, emitter, batch)
    if batch["closing"]:
        emitter.closed = True
        if emitter.unaccounted is None:
            state.live.discard(emitter_id)
    if emitter.closed:
        leave_sessions(state, emitter_id, emitter, emitter.last_cut, arrival)
    return sum(account[2].values())


def _new_witnesses(emitter: Emitter, told: Iterable[str]) -> list[str]:
    """Families of which the emitter says for the first time that it can tell of them."""
    known = () if emitter.beyond is None else emitter.beyond.witnesses
    return [family for family in WORK_FAMILIES if family in told and family not in known]


def _witness(emitter: Emitter, counter: BatchCounter, new: Iterable[str], after: int, through: int) -> None:
    """Counts the emitter as a witness of such families; of a new one in all of the stretch.

    What it said once holds for the rest of its life.
    """
    beyond = emitter.beyond
    for family in () if beyond is None else beyond.witnesses:
        counter.witness(family, after, through, first=False)
    for family in new:
        beyond = emitter.beyond = emitter.beyond or Beyond()
        beyond.witnesses.append(family)
        beyond.changed = True
        counter.witness(family, after, through, first=True)


def _note(state: PartitionState, offset: int, arrival: int) -> None:
    state.next_offset = offset + 1
    state.newest = state.previous = max(state.newest, arrival)


def _within(batch: dict[str, Any], cut: int) -> dict[str, Any]:
    """The batch of a host whose clock is ahead, with nothing of its sessions after its cut.

    Else a session would begin and end, by that clock, after every stretch that may lack events of it.
    """
    return batch | {name: [_not_after(event, cut) for event in batch[name]] for name in _OF_SESSIONS}


def _not_after(event: dict[str, Any], cut: int) -> dict[str, Any]:
    by = event["occurred_at"] - cut
    if by <= 0:
        return event
    moved = event | {"occurred_at": cut}
    if event.get("expires_at") is not None:
        # It holds for as long as it did by the clock that was ahead.
        moved["expires_at"] = max(0, event["expires_at"] - by)
    return moved


def _met(batch: dict[str, Any], arrival: int) -> Emitter:
    """An emitter of which this is the first batch that is read."""
    said = batch["emitter"]
    ahead = batch["sent_at"] > arrival + SKEW_US
    started = min(said["started_at"], arrival if ahead else batch["sent_at"])
    beyond = None if started == said["started_at"] else Beyond(said["started_at"], changed=True)
    return Emitter(
        Scope(**said["scope"]), started, said["heartbeat_ms"] * 1000, last_cut=started, beyond=beyond, said=said
    )


def _follow(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, batch: dict[str, Any],
    account: Account, cut: int, *, ahead: bool,
) -> None:  # fmt: skip
    """The emitter's newest batch so far: looks back at the stretch since the last one known."""
    shipped, dropped, events = account
    seq, after, cut_after = batch["batch_seq"], emitter.last_seq, emitter.last_cut
    if seq == after + 1 and _continues(emitter, shipped, dropped, events):
        losses = []
    else:
        shipped_before = _less(shipped, events)
        losses = losses_between(emitter.shipped, emitter.dropped, shipped_before, dropped)
    if seq > after + 1:
        forget_skipped(emitter, after, seq)
        _leave_gap(
            rules, emitter,
            Gap(after, seq, emitter.shipped, emitter.dropped, shipped_before, dropped, cut_after, cut, ahead),
        )  # fmt: skip
    if losses:
        cause = stretch_cause(after, seq, losses)
        flag_stretch(state, emitter_id, emitter, after, seq, cut_after, cut, cause, losses)
    if emitter.unaccounted is not None:
        # Sessions that ended since its last cut have the events that it owed.
        touch_sessions(state, emitter, cut_after + 1)
    emitter.last_seq, emitter.last_cut = seq, cut
    emitter.shipped, emitter.dropped = shipped, dropped
    emitter.heartbeat_us = batch["emitter"]["heartbeat_ms"] * 1000


def _fill(
    state: PartitionState, rules: FoldRules, emitter_id: str, emitter: Emitter, gap: Gap, seq: int, account: Account,
    cut: int, *, ahead: bool,
) -> None:  # fmt: skip
    """A batch that was missing: what lay on both sides of it is looked at anew."""
    shipped, dropped, events = account
    began = _less(shipped, events)
    left = Gap(gap.after, seq, gap.shipped_after, gap.dropped_after, began, dropped, gap.cut_after, cut, ahead)
    right = Gap(
        seq, gap.before, shipped, dropped, gap.shipped_before, gap.dropped_before, cut, gap.cut_before, gap.ahead
    )
    losses = _losses(gap)
    if losses:
        cause = stretch_cause(gap.after, gap.before, losses)
        clear_stretch(state, emitter_id, emitter, gap.after, gap.before, gap.cut_after, gap.cut_before, cause)
    emitter.gaps.remove(gap)
    for part in (left, right):
        if part.before > part.after + 1:
            _leave_gap(rules, emitter, part)
        losses = _losses(part)
        if losses:
            cause = stretch_cause(part.after, part.before, losses)
            flag_stretch(
                state, emitter_id, emitter, part.after, part.before, part.cut_after, part.cut_before, cause, losses
            )


def _leave_gap(rules: FoldRules, emitter: Emitter, gap: Gap) -> None:
    """Remembers that batches are missing. One gap too many, and the batches of another are given up.

    They are never counted then, and the windows that lack them stay lossy; one that lacks nothing goes first.
    """
    emitter.gaps.append(gap)
    if len(emitter.gaps) > rules.gap_limit:
        harmless = (known for known in emitter.gaps if not _losses(known))
        emitter.gaps.remove(next(harmless, min(emitter.gaps, key=lambda known: known.after)))


def _tell(state: PartitionState, emitter: Emitter, batch: dict[str, Any]) -> None:
    """What goes out at once, and each fallback for all other tools."""
    if not any(map(batch.__getitem__, _URGENT)):
        return
    touched = state.touched
    touched.urgent = True
    said = {
        "emitter_id": batch["emitter"]["emitter_id"],
        "batch_seq": batch["batch_seq"],
        "scope": emitter.scope._asdict(),
    }
    for index, fallback in enumerate(batch["kernel_fallbacks"]):
        touched.fallbacks.append(said | {"index": index} | fallback)


def _losses(gap: Gap) -> list[dict[str, Any]]:
    return losses_between(gap.shipped_after, gap.dropped_after, gap.shipped_before, gap.dropped_before)


def _continues(emitter: Emitter, shipped: Shipped, dropped: Drops, events: Shipped) -> bool:
    """Whether an account is the last one and the events of its own batch; the usual case, found without a copy."""
    before = emitter.shipped
    if dropped != emitter.dropped or not before.keys() <= shipped.keys():
        return False
    for family, n in shipped.items():  # noqa: SIM110  # half as long as all() takes
        if n != before.get(family, 0) + events.get(family, 0):
            return False
    return True


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
