"""Texts of random words: read, or refused by one line with its place; ``bench.campaigns.language_fuzz`` tries many."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark

from bench.campaigns.campaign import Tally, held
from bench.campaigns.language_fuzz import CAMPAIGN, DAMAGES, blown_up, examples, judge
from bench.campaigns.language_runs import CAMPAIGN as RUNS
from rtmbs.language import build
from rtmbs.language.parse import grammar
from tests.language.files import EVERY


def hold(text):
    tally = Tally()
    judge(tally, "text", text)
    assert not tally.failures


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(from_lark(grammar(), start="start"))
def test_sentences_of_the_grammar(text):
    hold(text)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text):
    hold(text)
    hold(f"MODEL m {text} ENDMODEL")


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(EVERY)), st.sampled_from(DAMAGES), st.integers(0, 2**32))
def test_damaged_files(name, damage, seed):
    hold(damage(np.random.default_rng(seed), EVERY[name], list(EVERY.values())))


def test_the_campaign_counts_every_case():
    tally = CAMPAIGN.run(12, 0)
    assert tally.tried == 12
    assert held(CAMPAIGN, tally), tally.failures


def test_changed_files_are_checked_and_run():
    tally = RUNS.run(40, 0)
    assert (tally.tried, tally.survived) == (40, 40), tally.failures
    assert tally.worst["cases run"] >= 5


def test_the_campaign_begins_with_the_examples_of_the_page():
    assert len(examples()) >= 8
    for text in examples():
        build(text)


def test_a_text_is_blown_up_to_nearly_a_megabyte():
    for seed in range(20):
        size = len(blown_up(np.random.default_rng(seed), EVERY["rich"]).encode())
        assert 0.8e6 < size < 1.1e6


@pytest.mark.parametrize(
    "text", ["MODEL a\x85ENDMODEL", "MODEL a SYSTEM (KINEMATIC ANALYSIS); BODY \u2028 (mass = x); ENDMODEL"]
)
def test_odd_ends_of_lines(text):
    hold(text)
