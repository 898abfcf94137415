"""Whether all topics exist and keep what they must."""

from collections.abc import Iterator

from unmask.consumers.doctor.finding import Finding, Status
from unmask.schemas.errors import BrokerUnreachable
from unmask.schemas.topic_admin import discover_topics, verify_topics

__all__ = ["check_topics"]


def check_topics(bootstrap: str, namespace: str, timeout: float) -> Iterator[Finding]:
    """One failure for each fault of a topic, else one finding for all of them."""
    try:
        topics = discover_topics(bootstrap, namespace, timeout=timeout)
        problems = verify_topics(bootstrap, topics, timeout=timeout)
    except BrokerUnreachable as error:
        fix = "grant this client's principal Describe and DescribeConfigs on the topics"
        yield Finding("topics", Status.FAILED, str(error), fix)
        return
    for problem in problems:
        yield Finding(f"topic {problem.topic}", Status.FAILED, problem.what, problem.fix)
    if not problems:
        detail = (
            f"all {len(topics.all())} exist and keep what they must; {topics.events_partitions} event and "
            f"{topics.table_partitions} table partitions"
        )
        yield Finding("topics", Status.OK, detail)
