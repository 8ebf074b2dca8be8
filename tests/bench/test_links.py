"""Counts of links and entries of steps are those of the programs that steps take."""

import numpy as np

from bench.links import costs, recorder
from rtmbs.studies.sensitivities.step_tape import StepCase


def test_counts_are_those_of_the_program() -> None:
    tape = recorder(1, 2)
    entries, products, links, fewer = costs(tape)
    assert links > entries
    assert fewer < products
    found = tape.entries(StepCase(1, (True,) * tape.nc), True)
    behind = found.row >= tape.y["v"].start  # vertices too
    iterates = tape.independents["iterates"]
    by = (found.column >= iterates.start) & (found.column < iterates.stop) | (found.column >= found.columns)
    assert np.count_nonzero(behind & by) == links
