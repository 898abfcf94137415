"""The page's part on topics and keys."""

from textwrap import dedent

from unmask.schemas import keys
from unmask.schemas.describe.markdown import table
from unmask.schemas.scope import Scope
from unmask.schemas.topics import Topics, TopicSpec

__all__ = ["topics"]

_DAY_MS = 86_400_000


def topics() -> str:
    """All topics, their keys and settings."""
    all_topics = Topics()
    tables = ", ".join(f"`{spec.name}`" for spec in all_topics.tables())
    text = f"""\
    ## Topics

    The namespace is `unmask` here; `UNMASK_NAMESPACE` changes it. Keys are never empty, and every producer places them
    with murmur2 (librdkafka's `partitioner=murmur2_random`), as Java clients and Faust do. The partition counts are
    the defaults of `create_topics`. The table topics have equal counts, since one worker owns the same partition of
    each: {tables}.
    """
    overview = table(
        ("topic", "key", "record", "partitions", "kept"),
        [
            (f"`{spec.name}`", spec.key, _values(all_topics, spec), str(spec.partitions), _kept(spec))
            for spec in all_topics.all()
        ],
    )
    settings = table(
        ("topic", "settings"),
        [
            (f"`{spec.name}`", ", ".join(f"`{name}={value}`" for name, value in sorted(spec.config.items())))
            for spec in all_topics.all()
        ],
    )
    return "\n\n".join(
        (
            dedent(text).strip(),
            overview,
            "Full settings; with three or more replicas each topic also has `min.insync.replicas=2`:",
            settings,
            _keys(),
        )
    )


def _values(all_topics: Topics, spec: TopicSpec) -> str:
    if spec is all_topics.tallies:
        return "`tally`, `evidence_flaw`, `evidence_mark`"
    if spec is all_topics.effects_state:
        return "the effects ledger's own"
    return f"`{spec.record}`" if spec.record else "the ledger's own"


def _kept(spec: TopicSpec) -> str:
    retention = spec.config.get("retention.ms")
    days = "" if retention is None else f"{int(retention) // _DAY_MS} days"
    if not spec.compacted:
        return days
    return f"newest per key, {days}" if days else "newest per key"


def _keys() -> str:
    scope = Scope("2026.1", "v1", "kafka", "strict", "default")
    start = 1_767_225_600_000_000
    cell = (3, start, 60, scope, "kernel_fallback", "search", "timeout")
    examples = (
        ("cell: partition, size, start, scope, measure, capability, code", keys.tally_key(*cell)),
        ("correction cell: the same, emitter, batch", keys.tally_key(*cell, correction=("e1", 7))),
        (
            "flaw: partition, size, start, scope, emitter, batches, cause",
            keys.flaw_key(3, start, 60, scope, "e1", 4, 6, "gap"),
        ),
        (
            "flaw of every scope: partition, size, start, first and end offset, cause",
            keys.flaw_key(3, start, 60, None, None, 100, 101, "quarantined"),
        ),
        ("mark: partition", keys.mark_key(3)),
        ("window: size, start, scope, capability", keys.window_key(start, 60, scope, "search")),
        ("window as a whole", keys.window_key(start, 60, None, None)),
        ("session snapshot: session, partition", keys.session_key("s1", 3)),
        ("parity run: suite, release line, composition", keys.parity_key("golden", "2026.1", scope.composition)),
        ("parity run of a release line in any composition", keys.parity_key("golden", "2026.1", None)),
        ("effect's requests and decisions: tenant, budget key", keys.effect_route("acme", "conversation-7")),
        (
            "an effect as a token: digest of tenant, failure, strategy, version and budget key",
            keys.effect_id("acme", "quota", "refund", "v2", "conversation-7"),
        ),
        ("route of all that belongs to a window: size, start", keys.window_route(start, 60)),
        ("route of an upstream's cells: upstream", keys.upstream_route("search-api")),
    )
    text = """\
    Composed keys, by example, for the window of 60 s that starts at 2026-01-01T00:00:00Z (starts are in seconds). A
    scope is its release line and its composition's digest; `*` stands for all. A route is no key: it is what murmur2
    places on a partition.
    """
    return f"{dedent(text).strip()}\n\n{table(('key', 'example'), [(name, f'`{key}`') for name, key in examples])}"
