"""Rests of the garbage collector: it is off while one lasts, and as before behind the last one."""

import gc

import pytest

from rtmbs.core.garbage import CollectorRest, keep_resting


@pytest.fixture(params=[True, False], ids=["on", "off"])
def before(request):
    """Whether the collector is on before a rest."""
    was = gc.isenabled()
    gc.enable() if request.param else gc.disable()
    yield request.param
    gc.enable() if was else gc.disable()


def test_the_last_rest_ends_it(before):
    one, other = CollectorRest(), CollectorRest()
    one.begin()
    other.begin()
    one.end()
    one.end()
    assert not gc.isenabled()
    other.end()
    assert gc.isenabled() is before


def test_a_rest_that_is_thrown_away_has_ended(before):
    rest = CollectorRest()
    rest.begin()
    del rest
    assert gc.isenabled() is before


def test_an_error_within_ends_it(before):
    with pytest.raises(KeyboardInterrupt), CollectorRest():
        raise KeyboardInterrupt
    assert gc.isenabled() is before


def test_it_goes_on_where_somebody_ended_it(before):
    with CollectorRest():
        gc.enable()
        keep_resting()
        assert not gc.isenabled()
    keep_resting()
    assert gc.isenabled() is before
