"""The state survives the way to the state topic and back."""

import pytest
from tests.unit.streams.effects.asking import KEY, Asked

from unmask.streams.effects.errors import EffectsStateUnreadable
from unmask.streams.effects.pieces import HEAD, budget_piece, effect_piece, head_piece, read_head, restore
from unmask.streams.effects.state import PartitionState


def pieces_of(state: PartitionState) -> dict[bytes, bytes]:
    pieces = dict([head_piece(state, "w")])
    for key, effect in state.effects.items():
        name, value = effect_piece(key, effect)
        assert value is not None
        pieces[name] = value
    for budget_key, budget in state.budgets.items():
        name, value = budget_piece(budget_key, budget)
        assert value is not None
        pieces[name] = value
    return pieces


def test_a_state_is_restored_as_it_was_with_its_order() -> None:
    asked = Asked()
    first = asked.claim(0, KEY._replace(failure="a"), budget_limit=4)
    asked.claim(1, KEY._replace(failure="b", budget_key="x"))
    asked.commit(2, asked.claim(1.5).fencing_token)
    asked.say(3, "release", first.fencing_token, KEY._replace(failure="a"))
    asked.state.log_id = "log-1"
    asked.state.take_touched()
    state, head = restore(0, pieces_of(asked.state))
    asked.state.committed_offset = state.committed_offset
    assert state == asked.state
    assert list(state.effects) == list(asked.state.effects)
    assert head is not None
    assert (head.writer, head.next_offset, head.log_id) == ("w", 5, "log-1")


def test_without_any_piece_a_partition_begins() -> None:
    assert restore(3, {}) == (PartitionState(3), None)


def test_a_removed_effect_has_no_value() -> None:
    assert effect_piece(KEY, None) == (b"k|acme|quota|refund|v2|conversation-7", None)
    assert budget_piece(KEY.budget, None) == (b"b|acme|conversation-7", None)


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"v":1}', b'{"v":2,"next_offset":0}', b'{"next_offset":0}'])
def test_a_head_that_cannot_be_read_is_named(raw: bytes) -> None:
    with pytest.raises(EffectsStateUnreadable, match="start a worker at least as new"):
        read_head(raw)


@pytest.mark.parametrize("piece", [(b"k|a|b|c|d|e", b"[1]"), (b"k|a", b"[]"), (b"b|a|b", b"nonsense")])
def test_a_piece_that_cannot_be_read_is_named(piece: tuple[bytes, bytes]) -> None:
    with pytest.raises(EffectsStateUnreadable):
        restore(0, {HEAD: head_piece(PartitionState(0), "w")[1], piece[0]: piece[1]})
