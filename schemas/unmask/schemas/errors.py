"""Named errors of the contract. Each says what is wrong and what to do."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from unmask.schemas.codes import QuarantineReason

if TYPE_CHECKING:
    from unmask.schemas.topic_problems import TopicProblem

__all__ = [
    "BrokerUnreachable",
    "ContractError",
    "DecodeError",
    "EncodeError",
    "IncompatibleSchema",
    "NoBroker",
    "RegistryUnavailable",
    "TopicCreationFailed",
    "TopicError",
    "TopicMissing",
    "TopicPolicyMismatch",
    "UnknownFingerprint",
    "UnsafeClientOption",
]


class ContractError(Exception):
    """Base of all errors about records and topics."""


class EncodeError(ContractError, ValueError):
    """A value does not fit its schema: an unknown key, a wrong type, a NaN. Correct the value."""


class DecodeError(ContractError, ValueError):
    """Bytes are not a record of the contract; `reason` says how, and never quotes them."""

    def __init__(self, reason: QuarantineReason, detail: str, fingerprint: str | None = None) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.fingerprint = fingerprint


class UnknownFingerprint(DecodeError):
    """The header names a schema that this reader does not know. Upgrade the reader before its writers."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(
            QuarantineReason.UNKNOWN_FINGERPRINT,
            f"no published schema has the fingerprint {fingerprint}; upgrade this reader",
            fingerprint,
        )


class IncompatibleSchema(ContractError, ValueError):
    """A schema that was added from outside cannot be read here; `reasons` says where. Upgrade this reader."""

    def __init__(self, record: str, reasons: Sequence[str]) -> None:
        self.record = record
        self.reasons = tuple(reasons)
        super().__init__(f"a schema of {record} cannot be read here ({'; '.join(reasons)}); upgrade this reader")


class RegistryUnavailable(ContractError):
    """The schema registry did not answer. Says nothing about the record: try the same record again later."""

    def __init__(self, action: str, cause: str) -> None:
        super().__init__(
            f"the schema registry could not {action} ({cause}); the record itself is not at fault. "
            "Try it again, and check SCHEMA_REGISTRY_URL and the registry"
        )


class NoBroker(ContractError):
    """No broker is named. Set KAFKA_BOOTSTRAP_SERVERS, or hand the address in."""

    def __init__(self) -> None:
        super().__init__(
            "no Kafka broker is named: set KAFKA_BOOTSTRAP_SERVERS=host:port (several divided by commas), "
            "or hand the address in"
        )


class BrokerUnreachable(ContractError):
    """The named brokers do not answer, or refuse what was asked. Check address, security settings and rights."""

    def __init__(self, action: str, cause: str) -> None:
        super().__init__(
            f"the Kafka cluster could not {action} ({cause}); check the address in KAFKA_BOOTSTRAP_SERVERS, the "
            "UNMASK_KAFKA_* security settings, and this client's rights"
        )


class UnsafeClientOption(ContractError, ValueError):
    """A client option would break what the contract rests on: keys on one partition, nothing lost unnoticed."""

    def __init__(self, option: str, value: object, needed: str) -> None:
        super().__init__(
            f"the client option {option} is set to {value!r}, but it must be {needed!r}: leave it out, also of the "
            "UNMASK_KAFKA_* variables"
        )


class TopicError(ContractError):
    """Topics are not as they must be; `problems` holds each fault with its fix."""

    def __init__(self, problems: Sequence["TopicProblem"]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{problem.topic}: {problem.what}. Fix: {problem.fix}" for problem in problems))


class TopicMissing(TopicError):
    """Topics do not exist. Create them; nothing here relies on a broker that creates topics by itself."""


class TopicPolicyMismatch(TopicError):
    """Topics exist, but keep, divide or stamp records in another way than they must. Nothing was changed."""


class TopicCreationFailed(ContractError):
    """The cluster refused to create topics; the message holds its words for each."""

    def __init__(self, refusals: dict[str, str]) -> None:
        self.refusals = dict(refusals)
        said = "; ".join(f"{topic}: {why}" for topic, why in sorted(refusals.items()))
        super().__init__(f"topics could not be created: {said}. Correct what the broker names, then create them again")
