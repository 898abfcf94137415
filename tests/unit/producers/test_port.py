"""The port alone, and what importing it costs."""

import subprocess
import sys

import pytest

from unmask.producers import Emitter, FallbackTelemetrySink, NullSink, get_sink, set_sink, wiring_problem

_HEAVY = ("faust", "numpy", "aiohttp", "opentelemetry", "rich", "typer")


def _modules_after(program: str) -> set[str]:
    listing = f"{program}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_port_needs_the_standard_library_alone() -> None:
    loaded = _modules_after("import unmask.producers.port")
    assert "unmask.producers.port" in loaded
    third_party = {"confluent_kafka", "fastavro", "pydantic", "unmask.schemas", *_HEAVY}
    assert loaded & third_party == set()


def test_the_package_stays_light() -> None:
    loaded = _modules_after("import unmask.producers")
    assert loaded & {"confluent_kafka", "fastavro", "pydantic", "unmask.schemas", *_HEAVY} == set()


def test_an_emitter_brings_nothing_heavy_into_the_host() -> None:
    loaded = _modules_after("from unmask.producers import Emitter, EmitterSettings, classify_refusal")
    assert {"confluent_kafka", "fastavro"} <= loaded
    assert loaded & set(_HEAVY) == set()


def test_every_public_name_can_be_imported() -> None:
    import unmask.producers

    assert all(getattr(unmask.producers, name) is not None for name in unmask.producers.__all__)
    assert set(unmask.producers.__all__) <= set(dir(unmask.producers))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = unmask.producers.nothing


def test_an_emitter_and_a_null_sink_are_both_sinks(emitter: Emitter) -> None:
    assert isinstance(emitter, FallbackTelemetrySink)
    assert isinstance(NullSink(), FallbackTelemetrySink)


def test_a_host_that_wired_nothing_is_told_so() -> None:
    problem = wiring_problem()
    assert problem is not None
    assert "not wired" in problem
    assert "set_sink" in problem


def test_a_null_sink_does_nothing_and_lets_work_go_on() -> None:
    sink = get_sink()
    assert isinstance(sink, NullSink)
    assert sink.wired is False
    sink.record_route_attempt("answer")
    sink.record_fallback("answer", TimeoutError())
    sink.record_masked_error("s", "o", "openai", 503, "cache")
    with pytest.raises(KeyError), sink.session("s"):
        raise KeyError


def test_the_sink_of_a_process_is_what_the_host_set(emitter: Emitter) -> None:
    before = set_sink(emitter)
    try:
        assert get_sink() is emitter
        assert wiring_problem() is None
    finally:
        set_sink(before)
    assert wiring_problem(emitter) is None
