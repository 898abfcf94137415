"""Alerts as they are published: first, where wanted, those that stand, then every change."""

from unmask.consumers.alerts.change import Place, UnreadableAlert, read_alert
from unmask.consumers.topic_reader import Row, TopicReader
from unmask.consumers.topic_source import TopicSource
from unmask.consumers.unreadable import TopicUnreadable
from unmask.schemas.codes import AlertState
from unmask.schemas.models import Alert
from unmask.schemas.topics import Topics, namespace_from_environment

__all__ = ["AlertsFeed", "UnreadableAlert", "alerts_source"]

_OPEN_TIMEOUT = 10.0
_REMEMBERED = 10_000


def alerts_source(bootstrap: str | None = None, namespace: str | None = None) -> TopicSource:
    """Where the alerts of a namespace are; by default as KAFKA_BOOTSTRAP_SERVERS and UNMASK_NAMESPACE say."""
    return TopicSource(Topics(namespace or namespace_from_environment()).alerts.name, bootstrap)


class AlertsFeed:
    """An endless read of the alerts topic, each change once.

    With `standing`, alerts that fire when it starts come first, oldest first; those resolved before do not. Where the
    topic cannot be read a TopicUnreadable is raised, and the next call goes on from where this one was.
    """

    def __init__(self, source: TopicSource, *, standing: bool = True) -> None:
        self._source = source
        self._from_end = not standing
        self._reader: TopicReader | None = None
        self._positions: dict[int, int] = {}
        self._replaying = standing
        self._stands: dict[str, Alert] = {}
        self._last: dict[str, Alert] = {}

    @property
    def replaying(self) -> bool:
        """Whether alerts that stood at the start are still being read."""
        return self._replaying

    def next(self, timeout: float) -> list[Alert | UnreadableAlert]:
        """What has arrived; waits up to `timeout` seconds for the first."""
        try:
            if self._reader is None:
                self._reader = TopicReader(
                    self._source, from_end=self._from_end, resume=self._positions, timeout=_OPEN_TIMEOUT
                )
                # Whatever comes while the connection is lost must be read when it is back.
                self._from_end = False
            rows = self._reader.read(timeout)
        except TopicUnreadable:
            self.close()
            # Of brokers that restarted, a client may go on asking with what it knew of them before.
            self._source = TopicSource(self._source.topic, self._source.bootstrap)
            raise
        self._positions = dict(self._reader.positions)
        news: list[Alert | UnreadableAlert] = []
        news += (found for row in rows if (found := self._take(row)) is not None)
        if self._replaying and self._reader.caught_up:
            self._replaying = False
            standing = sorted(self._stands.values(), key=lambda alert: alert.since)
            news += standing
            self._stands = {}
        return news

    def close(self) -> None:
        """Let go of the connection."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.close()

    def _take(self, row: Row) -> Alert | UnreadableAlert | None:
        if row.value is None:
            return None
        alert = read_alert(row.value, Place(row.partition, row.offset))
        if isinstance(alert, UnreadableAlert):
            return alert
        # A worker that starts anew may publish once more what stands already, or overwrite a younger record with it.
        # News of one revision differ: what a gate recorded changes an alert without moving the tables' inputs.
        last = self._last.get(alert.alert_id)
        if last is not None and (alert.revision < last.revision or alert == last):
            return None
        # Moved to the end, so that what has been quiet for longest is forgotten first.
        self._last.pop(alert.alert_id, None)
        self._last[alert.alert_id] = alert
        if len(self._last) > _REMEMBERED:
            del self._last[next(iter(self._last))]
        if not self._replaying:
            return alert
        self._stands.pop(alert.alert_id, None)
        if alert.state is AlertState.FIRING:
            self._stands[alert.alert_id] = alert
        return None
