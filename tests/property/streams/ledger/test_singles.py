"""Singles read together and folded the short way leave what reading and folding one by one leaves."""

from typing import Any
from zlib import crc32

from hypothesis import given, settings
from hypothesis import strategies as st

from unmask.schemas.codec import encode
from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS
from unmask.streams.ledger.fold import fold_batch
from unmask.streams.ledger.fold_single import fold_single
from unmask.streams.ledger.intake import Intake
from unmask.streams.ledger.rules import FoldRules
from unmask.streams.ledger.state import PartitionState

START = 1_760_000_000 * MICROS
SCOPE = Scope("r1", "v1", "kafka", "strict", "s1")
Logged = tuple[bytes, bytes, int]


class Hosts:
    """A few hosts that send singles, and now and then something else."""

    def __init__(self) -> None:
        self.now = START
        self.sent: dict[int, int] = {}
        self.recorded: dict[int, int] = {}
        self.log: list[Logged] = []

    def send(self, emitter: int, what: str, step: int, *, run_id: str, ahead: int) -> None:
        self.now += step
        seq = self.sent.get(emitter, 0) + 1
        attempts = 2 if what == "two" else 0 if what == "heartbeat" else 1
        self.recorded[emitter] = self.recorded.get(emitter, 0) + attempts + (what == "lost")
        at = self.now + ahead
        batch: dict[str, Any] = {
            "emitter": {
                "emitter_id": f"e-{emitter}", "started_at": START, "scope": SCOPE._asdict(),
                "heartbeat_ms": 20_000 if what == "slower" else 10_000, "sdk": "test",
            },
            "batch_seq": seq + (what == "gap"),
            "sent_at": at,
            "closing": what == "closing",
            "accounts": [{"family": "route_attempt", "recorded": self.recorded[emitter], "dropped": []}],
            "route_attempts": [
                {
                    "capability": "search" if what != "label" else "plan", "entry_point": "api",
                    "occurred_at": [at - position for position in range(attempts)],
                    "run_id": [run_id] * attempts if run_id else [],
                }
            ] if attempts else [],
            "kernel_fallbacks": [], "masked_errors": [], "session_openings": [], "session_teardowns": [],
        }  # fmt: skip
        self.sent[emitter] = batch["batch_seq"]
        self.log.append((f"e-{emitter}".encode(), encode("event_batch", batch), self.now))
        if what == "twice":
            self.log.append(self.log[-1])


WHAT = ("single",) * 12 + ("two", "heartbeat", "gap", "lost", "closing", "label", "slower", "twice")
SENDS = st.lists(
    st.tuples(
        st.integers(0, 2), st.sampled_from(WHAT), st.sampled_from((1_000, 40_000, 3 * MICROS, 70 * MICROS)),
        st.sampled_from(("", "", "run-1")), st.sampled_from((0, 0, 0, -5 * MICROS, 400 * MICROS)),
    ),
    min_size=20, max_size=80,
)  # fmt: skip


def one_by_one(log: list[Logged]) -> PartitionState:
    intake, state, rules = Intake(), PartitionState(0), FoldRules()
    for offset, (key, value, arrival) in enumerate(log):
        fold_batch(state, rules, offset, arrival, intake.read(key, value))
    return state


def together(log: list[Logged], polled: int) -> tuple[PartitionState, int]:
    intake, state, rules, short = Intake(), PartitionState(0), FoldRules(), 0
    for start in range(0, len(log), polled):
        poll = log[start : start + polled]
        singles = intake.read_singles([key for key, _, _ in poll], [value for _, value, _ in poll])
        for offset, ((key, value, arrival), single) in enumerate(zip(poll, singles, strict=True), start):
            if single is not None and fold_single(state, rules, offset, arrival, single):
                short += 1
            else:
                fold_batch(state, rules, offset, arrival, intake.read(key, value))
    return state, short


@given(SENDS, st.integers(8, 40))
@settings(deadline=None, max_examples=150)
def test_both_ways_leave_the_same_state(sends: list[Any], polled: int) -> None:
    hosts = Hosts()
    for emitter, what, step, run_id, ahead in sends:
        hosts.send(emitter, what, step, run_id=run_id, ahead=ahead)
    state, _ = together(hosts.log, polled)
    assert state == one_by_one(hosts.log)


def test_the_usual_single_goes_the_short_way() -> None:
    hosts = Hosts()
    for number in range(3_000):
        hosts.send(number % 3, "single", 1_000, run_id="run-7" if number % 2 else "", ahead=0)
    state, short = together(hosts.log, 500)
    assert short == 2_500
    assert state == one_by_one(hosts.log)


@given(st.binary(max_size=40), st.integers(0, 60))
@settings(deadline=None, max_examples=200)
def test_damaged_bytes_never_pass_for_a_single(junk: bytes, place: int) -> None:
    hosts = Hosts()
    for number in range(60):
        hosts.send(number % 3, "single", 1_000, run_id="", ahead=0)
    intake = Intake()
    for key, value, _ in hosts.log[:20]:
        intake.read(key, value)
    poll = hosts.log[20:]
    hurt = place % len(poll)
    values = [value for _, value, _ in poll]
    at = max(0, len(values[hurt]) - place)
    values[hurt] = values[hurt][:at] + junk + values[hurt][at + len(junk) :]
    quick = intake._quick
    assert quick is not None
    for (key, _, _), value, single in zip(
        poll, values, intake.read_singles([k for k, _, _ in poll], values), strict=True
    ):
        if single is None:
            continue
        batch = quick.read(key, value)
        assert batch is not None
        (group,) = batch["route_attempts"]
        told = (batch["emitter"], batch["batch_seq"], batch["sent_at"], batch["summary"][2][0]["route_attempt"])
        label = (group["capability"], group["entry_point"])
        assert single == (*told, label, group["occurred_at"][0], crc32(value))
