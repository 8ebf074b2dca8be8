"""Resolution of the ``of`` argument of analyses: a Simulation, an analysis result, or a State of a known System."""

from typing import Any

from rtmbs.errors import InputError, shown
from rtmbs.model.model import Model
from rtmbs.semirecursive.start.checks import check_closed
from rtmbs.simulation.simulation import Simulation, store_of, system_of
from rtmbs.state import State
from rtmbs.system.system import System

MEANT = "a Simulation at the state that is meant"


def simulation_of(verb: str, of: Any, wanted: str = MEANT) -> Simulation:
    """Return the Simulation at the state of ``of``.

    of : a Simulation; an Equilibrium, a Linearisation or Modes; or a State of a System that a Simulation has. Raises
        InputError with the remedy for a Model, a System and anything else, StateError for a State with open loops.
    """
    if isinstance(of, Simulation):
        return of
    if isinstance(inner := getattr(of, "simulation", None), Simulation):
        return inner
    if not isinstance(of, State):
        raise wrong_argument(verb, wanted, of)
    system = system_of(of)
    if system is None:
        raise InputError(
            f"{verb} was given a State at t = {of.t:g} s of a mechanism that no Simulation here has; restore it first: "
            f"sim.restore(state), and give {verb} the Simulation"
        )
    sim = Simulation(system, of.h)
    state = of.copy()
    check_closed(sim.equations, state, "this state")
    store_of(sim).go_on_from(state, state.t)
    return sim


def wrong_argument(verb: str, wanted: str, given: Any) -> InputError:
    """Return the error for an argument that an analysis cannot use, with the remedy."""
    ways = (
        (Model, "a Model", f"rtmbs.{verb}(rtmbs.Simulation(model.compile()), ...)"),
        (System, "a System", f"rtmbs.{verb}(rtmbs.Simulation(system), ...)"),
        (State, "a State", "sim.restore(state), and give the Simulation"),
    )
    for kind, what, way in ways:
        if isinstance(given, kind):
            return InputError(f"{verb} takes {wanted}, not {what}; write {way}")
    return InputError(f"{verb} takes {wanted}, not {shown(given)}")
