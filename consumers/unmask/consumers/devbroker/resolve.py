"""The one question most callers have: where is Kafka? Answered with a running broker, started if need be."""

import os
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException

from unmask.consumers.devbroker.compose import ComposeBroker, missing_for_docker
from unmask.consumers.devbroker.distribution import missing_for_jvm
from unmask.consumers.devbroker.errors import BrokerUnreachable, NoWayToRunBroker, UnknownBrokerWay
from unmask.consumers.devbroker.folders import broker_folder, locked
from unmask.consumers.devbroker.jvm import JvmBroker
from unmask.consumers.devbroker.readiness import answers
from unmask.consumers.devbroker.state import BrokerState, Way
from unmask.schemas.kafka import ENVIRONMENT_PREFIX, client_config

__all__ = ["BrokerHandle", "find_broker", "resolve_broker", "stop_broker"]


@dataclass(frozen=True, slots=True)
class BrokerHandle:
    """A broker that answers: its addresses, how it runs, and whether this call started it."""

    bootstrap: str
    way: Way
    folder: Path | None
    started: bool

    def stop(self, *, wipe: bool = False) -> None:
        """Stop the broker, unless it is somebody else's; with `wipe`, its data goes too."""
        if self.folder is not None:
            stop_broker(self.folder, wipe=wipe)


def resolve_broker(folder: Path | None = None, *, tethered: bool = False, timeout: float = 90.0) -> BrokerHandle:
    """Give a running broker: `KAFKA_BOOTSTRAP_SERVERS`, the folder's own, or a new one by Docker, else by Java.

    `folder` is the broker's data folder (the shared development broker's by default); callers that come at the same
    time get the same broker. `UNMASK_DEV_BROKER` (docker or jvm) forces a way. A broker started `tethered` by Java
    dies with this process.

    Raises `NoWayToRunBroker` naming what each way lacks, `BrokerUnreachable` when `KAFKA_BOOTSTRAP_SERVERS` does not
    answer, `BrokerStartFailed` with the end of the broker's log, `UnknownBrokerWay` for a way that does not exist.
    """
    if (external := _external()) is not None:
        if not _external_answers(external):
            raise BrokerUnreachable(
                f"KAFKA_BOOTSTRAP_SERVERS is {external}, and no broker answers there. "
                "Start it, correct the address, or unset the variable to get a development broker."
            )
        return BrokerHandle(external, Way.EXTERNAL, None, started=False)
    forced = _forced()
    folder = (folder or broker_folder()).absolute()
    with locked(folder):
        state = BrokerState.load(folder)
        if state is not None and forced not in (None, state.way):
            # Only one of them at a time; what the other way stored stays for when it is wanted again.
            _stop(folder, state, wipe=False)
        elif (found := _find(folder)) is not None:
            return found
        way = _pick(forced, state.way if state is not None else None)
        broker: ComposeBroker | JvmBroker
        if way is Way.DOCKER:
            broker = ComposeBroker(folder)
        else:
            nodes = len(state.nodes) if state is not None else 1
            broker = JvmBroker(folder, nodes, tethered=tethered)
        broker.start(timeout)
        return BrokerHandle(broker.bootstrap, way, folder, started=True)


def find_broker(folder: Path | None = None) -> BrokerHandle | None:
    """The broker that runs and answers now, or None; starts nothing."""
    if (external := _external()) is not None:
        return BrokerHandle(external, Way.EXTERNAL, None, started=False) if _external_answers(external) else None
    return _find((folder or broker_folder()).absolute())


def stop_broker(folder: Path | None = None, *, wipe: bool = False) -> bool:
    """Stop the folder's broker, with `wipe` delete its data too; False when none was ever started there."""
    folder = (folder or broker_folder()).absolute()
    with locked(folder):
        state = BrokerState.load(folder)
        if state is None:
            return False
        _stop(folder, state, wipe=wipe)
        return True


def _external() -> str | None:
    return os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "").strip() or None


def _external_answers(bootstrap: str) -> bool:
    try:
        # Only a broker of somebody else's may ask for more than an address, so only here do these settings count.
        return answers(bootstrap, settings=client_config(bootstrap))
    except KafkaException as error:
        raise BrokerUnreachable(
            f"the Kafka client refuses its settings ({error.args[0]}); "
            f"correct the {ENVIRONMENT_PREFIX}* variables or unset them."
        ) from error


def _forced() -> Way | None:
    named = os.environ.get("UNMASK_DEV_BROKER", "").strip().lower()
    if not named:
        return None
    if named not in (Way.DOCKER, Way.JVM):
        raise UnknownBrokerWay(f"UNMASK_DEV_BROKER is {named!r}; it must be docker or jvm, or not be set.")
    return Way(named)


def _find(folder: Path) -> BrokerHandle | None:
    state = BrokerState.load(folder)
    if state is None or not _runs(folder, state) or not answers(state.bootstrap):
        return None
    return BrokerHandle(state.bootstrap, state.way, folder, started=False)


def _runs(folder: Path, state: BrokerState) -> bool:
    # An answer alone proves nothing: the port may have gone to another's broker after ours died.
    if state.way is Way.DOCKER:
        return ComposeBroker(folder).running()
    broker = JvmBroker(folder, len(state.nodes))
    return all(broker.alive(node.node_id) for node in state.nodes)


def _stop(folder: Path, state: BrokerState, *, wipe: bool) -> None:
    if state.way is Way.DOCKER:
        ComposeBroker(folder).stop(wipe=wipe)
    else:
        JvmBroker(folder, len(state.nodes)).stop(wipe=wipe)


def _pick(forced: Way | None, earlier: Way | None) -> Way:
    """The forced way, or the one that the folder's data was written by if it still can, else the first that can."""
    order = sorted((Way.DOCKER, Way.JVM), key=lambda way: way is not earlier)
    lacks = {Way.DOCKER: missing_for_docker, Way.JVM: missing_for_jvm}
    missing: dict[Way, str] = {}
    for way in order:
        if forced is not None and way is not forced:
            missing[way] = f"ruled out by UNMASK_DEV_BROKER={forced.value}"
        elif (lack := lacks[way]()) is not None:
            missing[way] = lack
        else:
            return way
    raise NoWayToRunBroker(
        "No Kafka broker, and no way to start one. Any of these will do:\n"
        "  - KAFKA_BOOTSTRAP_SERVERS=host:port, a broker that runs already: the variable is not set\n"
        f"  - Docker with Compose: {missing[Way.DOCKER]}\n"
        f"  - Java 17 or newer with Maven: {missing[Way.JVM]}"
    )
