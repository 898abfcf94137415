"""Alerts carried to where people are told of them: webhooks and Alertmanager.

    receiver = Receiver(ReceiverKind.WEBHOOK, "https://hooks.example.org/unmask")
    forward(ForwardSettings(receiver, namespace="unmask"), reporter, done=lambda told: told >= 10)

Needs httpx, which the extra `cli` brings; it is imported only once something is sent.
"""

from unmask.consumers.alerts.forward import ForwardSettings, Outcome, forward
from unmask.consumers.alerts.forwarder import Reporter
from unmask.consumers.alerts.outbox import Parcel
from unmask.consumers.alerts.receiver import BadAddress, Receiver, ReceiverKind
from unmask.consumers.alerts.refusals import DeliveryRefused, ReceiverRefusesAll, SetAside
from unmask.consumers.alerts.webhook import IDEMPOTENCY_HEADER, WebhookBody

__all__ = [
    "IDEMPOTENCY_HEADER",
    "BadAddress",
    "DeliveryRefused",
    "ForwardSettings",
    "Outcome",
    "Parcel",
    "Receiver",
    "ReceiverKind",
    "ReceiverRefusesAll",
    "Reporter",
    "SetAside",
    "WebhookBody",
    "forward",
]
