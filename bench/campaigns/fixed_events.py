"""Random programs of events in runs with steps of h, by every method, against an exact simulation.

The programs are those of ``events``. Methods of order two and more integrate free flight without an error, so that
logs, times and last states are compared to rounding; methods with tolerances of their own take the finest. A swing has
steps so short that every method is within the bounds of ``events``.
"""

from typing import Any

import numpy as np

from bench.campaigns.campaign import Campaign, Tally, each
from bench.campaigns.events import compared, program
from rtmbs import METHODS
from rtmbs.simulation.events import EventError

STEPS = 12, 60  # of a run in free flight
OF_A_SWING = 600  # steps
OF_TOLERANCES = 100.0  # times the bounds of free flight: methods by tolerances of their own have an error there
FINEST = {"rtol": 1e-12, "atol": 1e-14}
OPTIONS = {"solve-ivp": FINEST, "cvode": FINEST, "ida": FINEST}


def method_of(name: str) -> Any:
    """Return a method by its name, with fine tolerances where it has these."""
    return METHODS[name](**OPTIONS.get(name, {}))


def judged(case: int, tally: Tally) -> str:
    """Return what is wrong with one program, or nothing."""
    rng = np.random.default_rng((case, 78))
    one = program(case)
    reference = one.reference()
    name = str(rng.choice([name for name in METHODS if method_of(name).order != 1]))
    h = reference.end / (OF_A_SWING if one.spring else int(rng.integers(*STEPS)))
    sim = one.simulation(h, method_of(name))
    try:
        result, error = sim.run(reference.end, when=one.events()), None
    except EventError as raised:
        result, error = raised.result, raised
    log = [(int(one.event.called[1:]), one.t) for one in result.events]
    tally.largest("events of a run", len(log))
    wider = OF_TOLERANCES if sim.method.order is None else 1.0
    wrong = compared(tally, reference, log, error, sim, one.spring, wider)
    return wrong and f"{name}, h = {h:g} s: {wrong}"


def run(cases: int, seed: int) -> Tally:
    """Try ``cases`` programs from ``seed`` on."""
    return each(judged, cases, seed)


CAMPAIGN = Campaign(
    "fixed-events", "random programs of events in runs with steps of h are those of an exact simulation", 1000, 60, run
)
