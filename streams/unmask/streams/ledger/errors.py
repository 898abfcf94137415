"""What ends a ledger for good: named, with what to do next."""

from confluent_kafka import KafkaError, KafkaException

__all__ = [
    "BrokerRefuses",
    "LedgerStalled",
    "LogRewound",
    "PartitionsAdded",
    "WorkerNameTaken",
    "is_fencing",
    "is_refusal",
]


class LogRewound(Exception):
    """The log is not the one that was counted: the topic was made anew, or its tail was lost.

    Counting on would give new records old numbers. Start a new namespace, or remove the ledger topic too if the old
    counts may be forgotten.
    """

    def __init__(self, topic: str, partition: int, found: str) -> None:
        super().__init__(
            f"partition {partition} of {topic} {found}: the topic was made anew or lost its tail. Use a new "
            f"namespace, or remove the namespace's other topics too if the old counts may be forgotten"
        )


class LedgerStalled(Exception):
    """Nothing could be committed for so long that another process may as well try."""

    def __init__(self, seconds: float, cause: BaseException) -> None:
        super().__init__(
            f"the ledger could not commit for {seconds:.0f} s ({type(cause).__name__}: {cause}); check the broker, "
            f"then start the worker again: it goes on where the last transaction ended"
        )


class BrokerRefuses(Exception):
    """The broker denies what the ledger needs; trying again changes nothing."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(
            f"the broker refuses the ledger ({cause}); check the UNMASK_KAFKA_* security settings and this client's "
            f"rights on the topics, the consumer group and the transactional id"
        )


class PartitionsAdded(Exception):
    """The events topic has grown since this worker started; its marks would speak of too few partitions."""

    def __init__(self, topic: str, known: int) -> None:
        super().__init__(
            f"{topic} has more than the {known} partitions that it had when this worker started; start all workers "
            f"of the namespace again, so that no window counts as complete without the new ones"
        )


class WorkerNameTaken(Exception):
    """Another worker keeps taking this one's place, so that neither gets anywhere."""

    def __init__(self, instance: str) -> None:
        super().__init__(
            f"another running worker has the name {instance} too, and the two fence each other; give each worker its "
            f"own --instance, or leave it out for a random one"
        )


_REFUSALS = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
}
_FENCING = {
    KafkaError._FENCED,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.FENCED_INSTANCE_ID,
}


def _code(error: BaseException) -> int | None:
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return cause.code() if isinstance(cause, KafkaError) else None


def is_refusal(error: BaseException) -> bool:
    """Whether the broker denied a right."""
    return _code(error) in _REFUSALS


def is_fencing(error: BaseException) -> bool:
    """Whether another worker took this one's place under its own name."""
    return _code(error) in _FENCING
