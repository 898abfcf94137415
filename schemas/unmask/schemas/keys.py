"""Record keys and routes of the keyed topics. Parts are tokens, so that `|` can divide them.

`None` for a scope or a capability stands for all of them and is written `*`, which no token contains.
"""

import hashlib

from unmask.schemas.scope import Scope
from unmask.schemas.windowing import MICROS

__all__ = [
    "effect_id",
    "effect_key",
    "effect_route",
    "flaw_key",
    "mark_key",
    "parity_key",
    "session_key",
    "tally_key",
    "upstream_route",
    "window_key",
    "window_route",
]


def _scope(scope: Scope | None) -> str:
    return "*|*" if scope is None else f"{scope.release_line}|{scope.composition}"


def window_route(start: int, seconds: int) -> str:
    """What decides the table partition of everything that belongs to a window."""
    return f"w|{seconds}|{start // MICROS}"


def upstream_route(upstream: str) -> str:
    """What decides the table partition of the cells of measure `upstream`."""
    return f"u|{upstream}"


def tally_key(
    partition: int, start: int, seconds: int, scope: Scope, measure: str, capability: str, code: str,
    correction: tuple[str, int] | None = None,
) -> str:  # fmt: skip
    """Key of a cell on unmask.tallies."""
    key = f"c|{partition}|{seconds}|{start // MICROS}|{_scope(scope)}|{measure}|{capability}|{code}"
    return key if correction is None else f"{key}|{correction[0]}|{correction[1]}"


def flaw_key(
    partition: int, start: int, seconds: int, scope: Scope | None, emitter_id: str | None, from_seq: int, to_seq: int,
    cause: str,
) -> str:  # fmt: skip
    """Key of a flaw on unmask.tallies."""
    emitter = emitter_id or "*"
    return f"f|{partition}|{seconds}|{start // MICROS}|{_scope(scope)}|{emitter}|{from_seq}|{to_seq}|{cause}"


def mark_key(partition: int) -> str:
    """Key of a source partition's mark on unmask.tallies, where every table partition has one."""
    return f"m|{partition}"


def window_key(start: int, seconds: int, scope: Scope | None, capability: str | None) -> str:
    """Key of a record on unmask.windows."""
    return f"{seconds}|{start // MICROS}|{_scope(scope)}|{capability or '*'}"


def session_key(session_id: str, partition: int) -> str:
    """Key of a session's snapshot on unmask.sessions."""
    return f"{session_id}|{partition}"


def parity_key(suite: str, release_line: str, composition: str | None) -> str:
    """Key of a record on unmask.parity; without a composition it speaks of the release line in any."""
    return f"{suite}|{release_line}|{composition or '*'}"


def effect_route(tenant: str, budget_key: str) -> str:
    """Key of an effect's requests and decisions: one partition, so one writer, has a budget and all charged to it."""
    return f"{tenant}|{budget_key}"


def effect_key(tenant: str, failure: str, strategy: str, strategy_version: str, budget_key: str) -> str:
    """What names an effect, in one text."""
    return f"{tenant}|{failure}|{strategy}|{strategy_version}|{budget_key}"


def effect_id(tenant: str, failure: str, strategy: str, strategy_version: str, budget_key: str) -> str:
    """A token that stands for an effect's key: `sha256-` and 32 hex digits."""
    key = effect_key(tenant, failure, strategy, strategy_version, budget_key)
    return "sha256-" + hashlib.sha256(key.encode()).hexdigest()[:32]
