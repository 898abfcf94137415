"""Named errors of the tables. Each ends the worker; a new start reads everything back and goes on."""

__all__ = ["NotCopartitioned", "OutputLost", "ReadBackTimeout", "TablesError", "TablesStalled", "UnsupportedSecurity"]


class TablesError(Exception):
    """Base of all errors of the tables."""


class ReadBackTimeout(TablesError):
    """The inputs could not be read to their end. Check the brokers, then start the worker again."""

    def __init__(self, missing: list[str], seconds: float) -> None:
        super().__init__(
            f"nothing came for {seconds:.0f} s while reading back, and these were not at their end: "
            f"{', '.join(missing)}; check the brokers and this client's rights, then start the worker again"
        )


class NotCopartitioned(TablesError):
    """The group gave this worker different partitions of topics that belong together."""

    def __init__(self, partitions: dict[str, list[int]]) -> None:
        told = "; ".join(f"{topic}: {numbers}" for topic, numbers in sorted(partitions.items()))
        super().__init__(
            f"the consumer group assigned different partitions of the tables' topics ({told}); all workers of the "
            "group must run this version, and all of these topics must have equally many partitions"
        )


class OutputLost(TablesError):
    """An output record was not acknowledged. The worker ends, so that a new start publishes what is missing."""

    def __init__(self, topic: str, cause: str) -> None:
        super().__init__(
            f"a record for {topic} was not acknowledged ({cause}); check the brokers, then start the worker again: "
            "it compares everything with what stands there and publishes what is missing"
        )


class TablesStalled(TablesError):
    """An input holds records that are not read any more, without any error."""

    def __init__(self, topic: str, partition: int, seconds: float) -> None:
        super().__init__(
            f"partition {partition} of {topic} has had unread records for {seconds:.0f} s and nothing is read; "
            "start the worker again"
        )


class UnsupportedSecurity(TablesError):
    """A security option that the tables' client cannot follow; leave it out or use another mechanism."""

    def __init__(self, option: str, value: str, known: str) -> None:
        super().__init__(f"the tables cannot connect with {option}={value}; supported are {known}")
