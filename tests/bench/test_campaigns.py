"""Every campaign in its bounded size, found by itself; and what a tally counts."""

import pytest

from bench.campaigns.campaign import Campaign, Tally, campaigns, held

OPEN: dict[str, str] = {}  # campaigns that fail, and why; a mend makes the test fail until its line goes


def marked(campaign: Campaign) -> object:
    """Return a campaign as a case, expected to fail where it is known to."""
    known = OPEN.get(campaign.name)
    marks = () if known is None else (pytest.mark.xfail(reason=known, strict=True),)
    return pytest.param(campaign, marks=marks, id=campaign.name)


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("campaign", [marked(one) for one in campaigns()])
def test_the_claim_holds(campaign: Campaign) -> None:
    for package in campaign.needs:
        pytest.importorskip(package)
    tally = campaign.run(campaign.bounded, 0)
    assert tally.tried >= campaign.bounded
    assert held(campaign, tally), (tally.worst, tally.failures)


def test_a_failed_case_breaks_a_claim_without_exceptions() -> None:
    tally = Tally()
    tally.survive()
    tally.fail("seed 1: wrong")
    assert (tally.tried, tally.survived, tally.failures) == (2, 1, ["seed 1: wrong"])
    campaign = Campaign("x", "x holds", 2, 2, lambda count, seed: tally)
    assert not held(campaign, tally)
    assert held(Campaign("x", "x holds", 2, 2, campaign.run, allowed=0.5), tally)


def test_a_worst_value_that_is_no_number_is_infinite() -> None:
    tally = Tally()
    for value in (1.0, float("nan"), 0.5):
        tally.largest("error", value)
    assert tally.worst["error"] == float("inf")
