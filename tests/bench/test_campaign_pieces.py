"""The pieces that campaigns are made of, quickly: a campaign that is broken shows here and not only in ``.ci/slow``."""

import numpy as np
import pytest

from bench.campaigns import law_rules, machines, multipliers, redundant
from bench.campaigns.campaign import Tally, campaigns
from bench.measures.exact_multipliers import backward, cholesky, forward, least
from rtmbs.errors import RtmbsError
from tests.cases import spread


def test_every_campaign_says_what_it_claims():
    found = campaigns()
    assert len({campaign.name for campaign in found}) == len(found) >= 10
    for campaign in found:
        assert campaign.claim
        assert 0 < campaign.bounded <= campaign.full


@pytest.mark.parametrize("name", machines.MODELS)
def test_every_machine_steps(name):
    sim = machines.simulation(name)
    before = machines.contents(sim.state)
    assert sim.step().outcome.accepted
    assert machines.contents(sim.state).keys() == before.keys()
    assert machines.contents(sim.state) != before


def drawn(kind, rng):
    """Return an argument of a rule, as a law meets it."""
    return np.float64(rng.normal()) if kind == law_rules.S else rng.normal(size=(3,) if kind == law_rules.V else (3, 3))


@pytest.mark.parametrize("name", law_rules.RULES)
def test_both_readings_of_a_rule_agree(name):
    """The second one takes a row for each state."""
    rule, rng = law_rules.RULES[name], np.random.default_rng(3)
    for _ in range(20):
        constants, arguments = rng.normal(size=8), [drawn(kind, rng) for kind in rule.takes]
        with np.errstate(all="ignore"):
            one = np.asarray(rule.law(constants, *arguments))
            rows = [np.array([argument], complex) for argument in arguments]
            other = np.asarray(rule.reference(constants, *rows))
        assert other.shape[0] == 1
        np.testing.assert_allclose(np.real(other[0]), one, rtol=1e-12, atol=1e-12, err_msg=name)


def test_the_judge_of_multipliers_solves():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(6, 6))
    A = np.longdouble(A @ A.T + np.eye(6))
    L, b = cholesky(A), np.longdouble(rng.normal(size=6))
    np.testing.assert_allclose(np.float64(A @ backward(L, forward(L, b))), np.float64(b), rtol=1e-14)
    R, wanted = np.longdouble(rng.normal(size=(3, 5))), np.longdouble(rng.normal(size=3))
    mine, theirs = np.float64(least(R, wanted)), np.linalg.pinv(np.float64(R)) @ np.float64(wanted)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12)


@pytest.mark.parametrize("kind", multipliers.KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_mechanism_starts(kind):
    started = 0
    for case in range(6):
        try:
            sim = kind(case, np.random.default_rng(case))
        except RtmbsError:
            continue
        started += sim.step().outcome.accepted
    assert started >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", spread([840, 929, 1971, 3187], 2))
def test_mechanisms_of_all_sizes_start_side_by_side(seed):
    """Two that share nothing but ground, one 3,000 times the other: each start is as exact as alone."""
    tally = Tally()
    assert redundant.judge(seed, tally)
    assert (tally.survived, tally.failures) == (1, [])


@pytest.mark.parametrize("seed", [712])
def test_a_contradiction_has_its_own_name(seed):
    """A joint that does not meet is named, whatever rounding does to rotations beside it in odd units."""
    tally = Tally()
    assert redundant.judge(seed, tally)
    assert tally.failures == []
