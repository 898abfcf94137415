"""Deliveries that a receiver refuses for good: set aside, and counted; but never all of them."""

from dataclasses import dataclass

from unmask.consumers.alerts.answer import Refused
from unmask.consumers.alerts.change import Place
from unmask.consumers.alerts.outbox import Parcel
from unmask.consumers.alerts.receiver import Receiver

__all__ = ["DeliveryRefused", "ReceiverRefusesAll", "Refusals", "SetAside"]

_MOST_IN_A_ROW = 20

_ADVICE = {
    400: "it does not understand what it is sent; see the body in docs/alerts.md, and the receiver's log",
    401: "it wants other credentials; set UNMASK_WATCH_AUTHORIZATION",
    403: "these credentials may not send to it; set UNMASK_WATCH_AUTHORIZATION, or have its rights changed",
    404: "nothing takes alerts at this address; correct its path",
    405: "nothing takes a POST at this address; correct its path",
    410: "this address is gone; give the receiver's new one",
    413: "it takes only smaller requests; raise its limit",
    422: "it does not understand what it is sent; see the body in docs/alerts.md, and the receiver's log",
}


def _advice(status: int) -> str:
    if 300 <= status < 400:
        return "redirects are not followed; give the final address"
    return _ADVICE.get(status, "see the receiver's log for the reason")


class DeliveryRefused(Exception):
    """A receiver refused one delivery for good; it is set aside and not tried again by this watcher."""

    def __init__(self, receiver: Receiver, answer: Refused, parcel: Parcel, count: int) -> None:
        alert = parcel.alerts[0]
        where = ", ".join(f"partition {place.partition}, offset {place.offset}" for place in parcel.places)
        super().__init__(
            f"{receiver.shown} refused {alert.alert_id} ({alert.state}{f'; {where}' if where else ''}) with HTTP "
            f"{answer.status}: {_advice(answer.status)}. Set aside, {count} so far."
        )


class ReceiverRefusesAll(Exception):
    """A receiver refused many deliveries and took none between them: the fault is not in the deliveries."""

    def __init__(self, receiver: Receiver, answer: Refused, count: int) -> None:
        super().__init__(
            f"{receiver.shown} refused {count} deliveries in a row, the last with HTTP {answer.status}: "
            f"{_advice(answer.status)}. Nothing was given up: start the watcher again once it is corrected, and all of "
            "them are delivered."
        )


@dataclass(frozen=True, slots=True)
class SetAside:
    """A delivery that was refused."""

    parcel: Parcel
    status: int
    error: DeliveryRefused


class Refusals:
    """Counts what was refused, and gives it up only once the receiver took something else.

    So a wrong address or an expired credential costs no alert: what it refused is still owed.
    """

    def __init__(self, receiver: Receiver, most_in_a_row: int = _MOST_IN_A_ROW) -> None:
        self._receiver = receiver
        self._most_in_a_row = most_in_a_row
        self._in_a_row = 0
        self._unsettled: list[Place] = []
        self.count = 0
        """Deliveries that were refused."""

    def refused(self, parcel: Parcel, answer: Refused) -> SetAside:
        """Takes note of one. Raises ReceiverRefusesAll."""
        self.count += 1
        self._in_a_row += 1
        self._unsettled.extend(parcel.places)
        if self._in_a_row >= self._most_in_a_row:
            raise ReceiverRefusesAll(self._receiver, answer, self._in_a_row)
        return SetAside(parcel, answer.status, DeliveryRefused(self._receiver, answer, parcel, self.count))

    def accepted(self) -> list[Place]:
        """The receiver took something: places that are given up by that."""
        self._in_a_row = 0
        settled, self._unsettled = self._unsettled, []
        return settled
