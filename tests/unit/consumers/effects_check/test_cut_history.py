"""Histories of which the beginning is gone: what is known begins with what is told, and nothing false is said."""

import pytest
from tests.unit.consumers.effects_check.small_history import Small

from unmask.consumers.effects_check import Breach, History, Rules, check_history
from unmask.consumers.effects_check.render import to_document, to_lines
from unmask.schemas.windowing import MICROS
from unmask.streams.effects.rules import EffectRules


def a_long_one() -> Small:
    small = Small()
    for n in range(6):
        claimed = small.claim(f"k{n % 3}", lease_s=2, limit=50, holder=f"h{n}")
        small.wait(1)
        if claimed["answer"] == "GRANTED" and n % 2:
            small.commit(claimed["fencing_token"], f"k{n % 3}", f"r{n}")
        small.wait(2)
        small.ask("expire", f"k{n % 3}", fencing_token=claimed["fencing_token"] or 1)
        small.claim(f"k{n % 3}", holder="again", limit=40 - n)
    return small


def cut(history: History, asked_from: int, decided_from: int) -> History:
    partition = history.partitions[0]
    partition.asked = [record for record in partition.asked if record.offset >= asked_from]
    partition.decided = [record for record in partition.decided if record.body["offset"] >= decided_from]
    partition.whole = False
    return history


@pytest.mark.parametrize("asked_from", [0, 3, 7, 12, 18])
@pytest.mark.parametrize("kept_longer", [0, 1, 4])
def test_a_history_that_begins_in_the_middle_has_nothing_wrong_in_it(asked_from: int, kept_longer: int) -> None:
    history = cut(a_long_one().history(), asked_from, max(0, asked_from - kept_longer))
    account = check_history(history)
    assert account.problems == []
    assert account.cut == [0]
    assert "do not go back" in "\n".join(to_lines(account, []))


def test_what_is_known_of_a_cut_history_is_still_checked() -> None:
    history = cut(a_long_one().history(), 3, 3)
    last = history.partitions[0].decided[-1].body
    last.update(answer="GRANTED", fencing_token=2, lease_until=last["decided_at"] + MICROS, reason=None)
    assert not check_history(history).good


def test_a_key_that_was_forgotten_after_the_retention_begins_anew() -> None:
    day = 86_400 * MICROS
    small = Small(EffectRules(retention_us=day))
    small.commit(small.claim(limit=1)["fencing_token"])
    small.claim("k2", limit=1)
    small.wait(86_401)
    assert small.claim(limit=1)["answer"] == "GRANTED"
    assert check_history(small.history(), Rules(retention=day)).problems == []
    breaches = {problem.breach for problem in check_history(small.history()).problems}
    assert {Breach.GRANT_AFTER_COMMIT} <= breaches


def test_an_account_is_told_as_lines_and_as_a_document() -> None:
    history = a_long_one().history()
    history.partitions[0].decided[0].body["attempts"] = 9
    account = check_history(history)
    document = to_document(account, account.problems)
    assert document["good"] is False
    assert document["problems"][0]["breach"] == "WRONG_FACTS"
    assert document["problems"][0]["key"]["failure"] == "k0"
    assert to_lines(account, account.problems)[-1] == "1 problems: WRONG_FACTS 1"
    assert to_lines(account, [])[-1] == "Nothing is wrong."
