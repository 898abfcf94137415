"""What can go wrong between asking for a development broker and having one."""

__all__ = ["BrokerError", "BrokerStartFailed", "BrokerUnreachable", "NoWayToRunBroker", "UnknownBrokerWay"]


class BrokerError(RuntimeError):
    """Any failure of the development broker; its text says what to do next."""


class NoWayToRunBroker(BrokerError):
    """Neither a given broker, nor Docker, nor Java with Maven is to be had here."""


class UnknownBrokerWay(BrokerError):
    """`UNMASK_DEV_BROKER` names a way that does not exist."""


class BrokerUnreachable(BrokerError):
    """A broker that should be there does not answer a metadata request."""


class BrokerStartFailed(BrokerError):
    """The broker was started and did not become ready; carries the end of its log."""
