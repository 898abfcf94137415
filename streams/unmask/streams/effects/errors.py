"""What ends the effects ledger for good: named, with what to do next."""

__all__ = ["EffectsLogRewound", "EffectsStalled", "EffectsStateUnreadable", "RequestPartitionsAdded"]


class EffectsStateUnreadable(Exception):
    """A piece of the state cannot be read by this version."""

    def __init__(self, found: str) -> None:
        super().__init__(
            f"the effects ledger's state cannot be used: {found}; start a worker at least as new as the last one"
        )


class EffectsLogRewound(Exception):
    """The request log is not the one that was decided: the topic was made anew, or its tail was lost.

    Going on would give out fencing tokens that were given out before.
    """

    def __init__(self, topic: str, partition: int, found: str) -> None:
        super().__init__(
            f"partition {partition} of {topic} {found}: the topic was made anew or lost its tail. Use a new namespace, "
            f"or remove the state topic of the effects ledger too if what was granted and committed may be forgotten"
        )


class EffectsStalled(Exception):
    """Nothing could be committed for so long that another process may as well try."""

    def __init__(self, seconds: float, cause: BaseException) -> None:
        super().__init__(
            f"the effects ledger could not commit for {seconds:.0f} s ({type(cause).__name__}: {cause}); check the "
            f"broker, then start the worker again: it goes on where the last transaction ended"
        )


class RequestPartitionsAdded(Exception):
    """The request topic has grown since this worker started: keys have moved to other partitions."""

    def __init__(self, topic: str, known: int) -> None:
        super().__init__(
            f"{topic} has more than the {known} partitions that it had when this worker started; adding partitions "
            f"moves keys away from what was decided about them. Use a new namespace with as many as are needed"
        )
