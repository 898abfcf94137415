"""The soak's own eyes: what hosts were told or did against the history must be found, or a soak that passes proves
nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.effects.journal import Life
from tests.chaos.effects.witness import AT_THE_END, Told, check_words
from tests.chaos.soak.checks import Checks
from tests.unit.consumers.effects_check.small_history import Small, T

from unmask.consumers.effects_check import check_history

Line = dict[str, Any]
KEY = ["t", "k", "s", "1", "b"]
S = 1_000_000


class Story:
    """A claim that is committed, one that is late and granted to another, and what the hosts wrote of it."""

    def __init__(self) -> None:
        self.small = Small()
        self.small.claim(request_id="q1")
        self.small.wait(1)
        self.small.commit(1, receipt="r1")
        self.small.wait(1)
        self.small.claim(request_id="q2", holder="h2")
        self.small.claim("slow", request_id="q3", lease_s=2)  # token 4, from 2 s to 4 s
        self.small.wait(3)
        self.small.claim("slow", request_id="q4", holder="h2", lease_s=4)  # token 5, from 5 s to 9 s
        self.small.commit(4, "slow", "r3")
        self.small.wait(1)
        self.small.ask("release", "slow", fencing_token=5)
        self.first: list[Line] = [
            self.claim("q1", "GRANTED", 1, None, asked=0),
            {"e": "made", "k": KEY, "token": 1, "receipt": "r1", "at": T + S // 2},
            self.settled("commit", "COMMITTED", 1, "r1", at=1),
            self.claim("q3", "GRANTED", 4, None, asked=2, key="slow"),
            self.settled("commit", "FENCED", 4, "r3", at=6, key="slow"),
        ]
        self.second: list[Line] = [
            self.claim("q2", "ALREADY_COMMITTED", 1, "r1", asked=2),
            self.claim("q4", "GRANTED", 5, None, asked=5, key="slow"),
            self.settled("release", "RELEASED", 5, None, at=6, key="slow"),
        ]
        self.world: list[Line] = [self.made(1, "r1", 0.5), self.made(4, "r3", 3, key="slow")]

    @staticmethod
    def claim(request: str, answer: str, token: int | None, receipt: str | None, *, asked: float, key: str = "k",
              reason: str | None = None) -> Line:  # fmt: skip
        return {
            "e": "told", "what": "claim", "k": [*KEY[:1], key, *KEY[2:]], "q": request, "answer": answer,
            "reason": reason, "token": token, "receipt": receipt, "asked": T + round(asked * S), "took": 0.1,
            "at": T + round(asked * S) + 1,
        }  # fmt: skip

    @staticmethod
    def settled(what: str, answer: str, token: int, sent: str | None, *, at: float, key: str = "k") -> Line:
        return {
            "e": "told", "what": what, "k": [*KEY[:1], key, *KEY[2:]], "answer": answer, "reason": None,
            "token": token, "sent": sent, "receipt": sent, "at": T + round(at * S) + 1,
        }  # fmt: skip

    @staticmethod
    def made(token: int, receipt: str, at: float, *, key: str = "k", trusted: bool = True) -> Line:
        place = [*KEY[:1], key, *KEY[2:]]
        return {"k": place, "token": token, "receipt": receipt, "life": "h-1", "trusted": trusted,
                "at": T + round(at * S)}  # fmt: skip

    def check(self, more: list[Line] | None = None) -> tuple[Checks, Told]:
        history = self.small.history()
        checks = Checks()
        lives = [Life("h-1", self.first), Life("h-2", self.second), Life(AT_THE_END, more or [])]
        return checks, check_words(checks, history, check_history(history), lives, self.world)


def test_a_story_in_which_nothing_is_wrong_is_found_so() -> None:
    story = Story()
    again = story.claim("q2", "ALREADY_COMMITTED", 1, "r1", asked=9)
    checks, told = story.check([again])
    assert checks.good, checks.differences
    assert told.claims == {"GRANTED": 3, "ALREADY_COMMITTED": 1}
    assert told.settlements == {"commit COMMITTED": 1, "commit FENCED": 1, "release RELEASED": 1}
    assert (told.made, told.again, len(told.took), len(told.took_at_the_end)) == (2, 0, 4, 1)


def _commit_that_the_history_lacks(story: Story) -> None:
    story.second[2] = story.settled("commit", "COMMITTED", 5, "r4", at=6, key="slow")


def _committed_with_another_receipt(story: Story) -> None:
    story.first[2]["sent"] = "r9"


def _refused_a_commit_that_stands(story: Story) -> None:
    story.first[2]["answer"] = "FENCED"


def _told_another_receipt(story: Story) -> None:
    story.second[0]["receipt"] = "r9"


def _told_held_after_a_commit(story: Story) -> None:
    # An answer that the history has, and that is older than the commit, would be no excuse.
    story.small.ask("claim", "k", request_id="q9", fingerprint="other", lease_ms=1)
    story.second.append(story.claim("q9", "HELD_BY_ANOTHER", None, None, asked=7))


def _granted_what_the_history_does_not_have(story: Story) -> None:
    story.first.append(story.claim("q8", "GRANTED", 9, None, asked=7))


def _given_another_token(story: Story) -> None:
    story.second[1]["token"] = 6


def _released_what_was_never_given_back(story: Story) -> None:
    story.first.append(story.settled("release", "RELEASED", 4, None, at=3, key="slow"))


def _twice_under_one_lease(story: Story) -> None:
    story.world.append(story.made(1, "r2", 0.6))


def _without_a_lease(story: Story) -> None:
    story.world.append(story.made(17, "r2", 0.6))


def _trusted_after_its_end(story: Story) -> None:
    story.world[1]["at"] = T + 4 * S


def _trusted_before_its_grant(story: Story) -> None:
    story.world[1]["at"] = T + S


def _made_and_gone(story: Story) -> None:
    story.first[1]["receipt"] = "r7"


def _committed_and_never_made(story: Story) -> None:
    story.world[0]["receipt"] = "r7"
    del story.first[1]


@pytest.mark.parametrize(
    ("spoil", "subject"),
    [
        (_commit_that_the_history_lacks, "commits"),
        (_committed_with_another_receipt, "commits"),
        (_refused_a_commit_that_stands, "commits"),
        (_told_another_receipt, "claims"),
        (_told_another_receipt, "commits known afterwards"),
        (_told_held_after_a_commit, "commits known afterwards"),
        (_granted_what_the_history_does_not_have, "claims"),
        (_given_another_token, "claims"),
        (_released_what_was_never_given_back, "releases"),
        (_twice_under_one_lease, "effects"),
        (_without_a_lease, "effects"),
        (_trusted_after_its_end, "effects"),
        (_trusted_before_its_grant, "effects"),
        (_made_and_gone, "effects"),
        (_committed_and_never_made, "commits made"),
    ],
)
def test_a_story_that_cannot_be_is_found(spoil: Callable[[Story], None], subject: str) -> None:
    story = Story()
    spoil(story)
    checks, _ = story.check()
    assert checks.failed[subject] >= 1, checks.failed


def test_an_effect_that_was_made_under_two_leases_that_both_held_is_found() -> None:
    story = Story()
    history = story.small.history()
    # A ledger that lets them overlap: the second was granted a second before the first was over.
    early = next(d.body for d in history.partitions[0].decided if d.body["offset"] == 4)
    early["decided_at"] = T + 3 * S
    story.world.append(story.made(5, "r4", 3.5, key="slow"))
    checks = Checks()
    check_words(checks, history, check_history(history), [Life("h-1", story.first)], story.world)
    assert any("lease of token 4 held" in difference for difference in checks.differences)


def test_an_effect_that_its_maker_knew_to_be_late_is_counted_and_no_contradiction() -> None:
    story = Story()
    story.world[1].update(at=T + 6 * S, trusted=False)
    story.world.append(story.made(5, "r4", 5.5, key="slow"))
    checks, told = story.check()
    assert checks.good, checks.differences
    assert (told.late, told.again) == (1, 1)


def test_a_question_that_nobody_answered_is_held_against_nobody() -> None:
    story = Story()
    story.second.append(story.claim("q7", "ABSTAIN", None, None, asked=7, reason="timeout"))
    checks, told = story.check()
    assert checks.good
    assert told.claims["ABSTAIN timeout"] == 1
    assert len(told.took) == 4


def test_this_test_knows_every_line_that_hosts_write() -> None:
    source = (Path(__file__).parent / "deeds.py").read_text(encoding="utf-8")
    assert {line.split('"e": "')[1].split('"')[0] for line in source.splitlines() if '"e": "' in line} == {
        "ask", "told", "made", "dies",
    }  # fmt: skip
