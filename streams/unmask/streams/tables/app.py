"""Building the Faust app of the tables: its settings, its input topics, its agents."""

from collections.abc import Awaitable, Callable
from typing import Any

from unmask.schemas.kafka import client_config
from unmask.schemas.topics import Topics
from unmask.streams.settings import StreamSettings
from unmask.streams.tables.flow import Source, topic_names
from unmask.streams.tables.security import credentials_from
from unmask.streams.tables.transport import TablesApp

__all__ = ["build_app"]

_BUFFERED = 16_384
OnMessage = Callable[[Source, Any], None]


def build_app(settings: StreamSettings, topics: Topics, on_message: OnMessage) -> TablesApp:
    """The app, to be made and started in the running event loop. `on_message` gets every message of every input."""
    config = client_config(settings.bootstrap)
    servers = [server.strip() for server in str(config["bootstrap.servers"]).split(",")]
    session_s = settings.session_timeout_ms / 1000
    app = TablesApp(
        settings.tables_group,
        broker=[f"kafka://{server}" for server in servers],
        broker_credentials=credentials_from(config),
        broker_client_id="unmask",
        broker_session_timeout=session_s,
        broker_heartbeat_interval=session_s / 4,
        broker_request_timeout=max(30.0, session_s),
        broker_rebalance_timeout=30.0,
        broker_max_poll_records=2_000,
        consumer_group_instance_id=settings.instance if settings.static_membership else None,
        consumer_auto_offset_reset="earliest",
        # Members tell each other this address; nobody ever calls it.
        canonical_url="http://tables.invalid",
        store="memory://",
        stream_buffer_maxsize=_BUFFERED,
        topic_allow_declare=False,
        topic_disable_leader=True,
        # Takes what is buffered already without another round of the event loop.
        cython_optimizations=True,
        autodiscover=False,
        web_enabled=False,
    )
    for source, name in topic_names(topics).items():
        topic = app.topic(name, key_type=bytes, value_type=bytes, value_serializer="raw", acks=False)
        app.agent(topic, name=f"tables.{source.value}")(_agent(source, on_message))
    return app


def _agent(source: Source, on_message: OnMessage) -> Callable[[Any], Awaitable[None]]:
    async def take(stream: Any) -> None:
        async for _ in stream:
            on_message(source, stream.current_event.message)

    return take
