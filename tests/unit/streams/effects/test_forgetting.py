"""What is forgotten, and when: memory stays bounded, and a fencing token never comes again."""

from tests.unit.streams.effects.asking import KEY, Asked

from unmask.schemas.windowing import MICROS
from unmask.streams.effects.rules import EffectRules

DAY = 86_400.0
RULES = EffectRules(retention_us=2 * 86_400 * MICROS)


def test_a_committed_key_is_remembered_for_its_retention_and_then_forgotten_with_its_budget() -> None:
    asked = Asked(RULES)
    asked.commit(1, asked.claim(0, budget_limit=1).fencing_token)
    assert asked.claim(2 * DAY, holder="other").answer == "ALREADY_COMMITTED"
    again = asked.claim(2 * DAY + 1, holder="other", fingerprint="content-2", budget_limit=3)
    assert (again.answer, again.attempts, again.budget_used, again.budget_limit) == ("GRANTED", 1, 1, 3)
    assert again.fencing_token == 4, "tokens are places in the log: they grow also over what is forgotten"


def test_what_is_forgotten_is_removed_from_the_state_topic_and_from_the_tenants_count() -> None:
    asked = Asked(RULES)
    asked.claim(0)
    asked.state.take_touched()
    asked.claim(3 * DAY, KEY._replace(tenant="beta"))
    assert asked.state.touched.effects == {KEY, KEY._replace(tenant="beta")}
    assert asked.state.touched.budgets == {KEY.budget, KEY._replace(tenant="beta").budget}
    assert list(asked.state.effects) == [KEY._replace(tenant="beta")]
    assert asked.state.tenants == {"beta": 1}


def test_a_lease_that_is_renewed_for_days_is_not_forgotten() -> None:
    asked = Asked(RULES)
    token = asked.claim(0, lease_ms=86_400_000).fencing_token
    for half in range(1, 10):
        assert asked.say(half * DAY / 2, "renew", token, lease_ms=86_400_000).answer == "RENEWED"
    assert asked.commit(5 * DAY, token).answer == "COMMITTED"


def test_stating_a_limit_does_not_keep_a_budget_from_being_forgotten() -> None:
    asked = Asked(RULES)
    asked.claim(0, budget_limit=1)
    assert asked.claim(2 * DAY - 1, KEY._replace(failure="b"), budget_limit=1).answer == "BUDGET_SPENT"
    assert asked.claim(2 * DAY, KEY._replace(failure="b"), budget_limit=1).answer == "GRANTED"


def test_much_that_is_due_at_once_goes_in_parts_and_no_answer_rests_on_it() -> None:
    asked = Asked(RULES)
    for number in range(1_500):
        asked.claim(0, KEY._replace(failure=f"f-{number}"))
    late = asked.claim(3 * DAY, KEY._replace(failure="f-1499"), holder="other")
    assert (late.answer, late.attempts) == ("GRANTED", 1), "forgotten, though 499 others are still there"
    assert len(asked.state.effects) == 500
    asked.claim(3 * DAY, KEY._replace(failure="g"))
    assert len(asked.state.effects) == 2
