"""A scope's composition digest changes with each of its four tokens, and with nothing else."""

from unmask.schemas.scope import Scope, composition_digest

SCOPE = Scope("2026.1", "v1", "kafka", "strict", "default")


def test_the_digest_is_sixteen_hex_digits_and_stable() -> None:
    assert SCOPE.composition == composition_digest("v1", "kafka", "strict", "default") == "352ca5b3b3d26dec"


def test_the_release_line_is_not_part_of_the_composition() -> None:
    assert SCOPE._replace(release_line="2026.2").composition == SCOPE.composition


def test_each_of_the_four_tokens_changes_it() -> None:
    digests = {SCOPE._replace(**{name: "other"}).composition for name in Scope._fields[1:]}
    assert len(digests | {SCOPE.composition}) == 5


def test_tokens_do_not_run_into_each_other() -> None:
    assert composition_digest("ab", "c", "x", "x") != composition_digest("a", "bc", "x", "x")
