"""The numbers of a State stand in one order wherever they are named again."""

from dataclasses import fields

from rtmbs.integrators.settings import Chunk, StateArrays
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.state import State

NUMBERS = [f.name for f in fields(State) if f.name in StateArrays._fields]


def test_arrays_of_a_step_are_those_of_a_state():
    """All but the energy, which the method remembers; time, inputs and memory are no numbers that a step integrates."""
    assert set(StateArrays._fields) - set(NUMBERS) == {"energy"}
    assert {f.name for f in fields(State)} - set(NUMBERS) == {
        "fingerprint",
        "t_ref",
        "k",
        "h",
        "u",
        "memory",
        "given",
        "before",
    }


def test_a_chunk_holds_them_all():
    assert set(Chunk._fields) == {*StateArrays._fields, "u", "stats"}
    ours, theirs = ([name for name in kind._fields if name in NUMBERS] for kind in (Chunk, StateArrays))
    assert ours == theirs


def test_samples_hold_what_channels_are_worked_out_from():
    assert {*NUMBERS, "u"} - set(OF_STATE) == {"sd"}, "rates of force states are evaluated anew"
    assert Samples._fields == ("t", *OF_STATE, "doubtful")
