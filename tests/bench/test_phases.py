"""``bench.phases``: flops counted by running the kernels' text, bytes by their arrays, tables."""

import numpy as np
import pytest

from bench import phases
from bench.measures.flops import Counted


def test_numbers_that_count():
    Counted.flops = 0
    total = np.float64(2.0) * Counted(3.0) + 4 - Counted(1.0) / 2.0
    assert float(total) == 9.5
    assert Counted.flops == 4
    assert abs(-total) > 9.0
    assert total < np.inf
    assert Counted.flops == 4, "signs and comparisons are free"


@pytest.mark.slow
def test_the_work_of_parallel_rows_grows_by_the_same_for_each():
    sims = [phases.simulation("parallel", nz) for nz in (1, 2, 3)]
    flops = [phases.flops(sim) for sim in sims]
    touched = [phases.touched(sim) for sim in sims]
    for phase in ("residual", "tangent"):
        one, two, three = (each[phase] for each in flops)
        assert 0 < one < two < three
        assert three - two == two - one
    assert all(sum(each.values()) > 0 for each in touched)
    assert flops[0].keys() == touched[0].keys()


def test_tables_say_what_was_found():
    row = {"flops": 2_000_000, "bytes": 500_000, "calls": 1.0, "us": 150.0}
    found = {"layout": "stacked", "nz": 40, "phases": dict.fromkeys(phases.KIND, row)}
    rates = {"scalar": 1e10, "vector": 2e10, "bytes": 1e11, "fork_us": 5.0}
    grown = [{"layout": "stacked", "nz": nz, "us": 3.0 * nz**1.5, "start_s": 0.1} for nz in (10, 20, 40)]
    text = phases.text({"machine": "m", "rates": rates, "phases": [found], "growth": grown})
    assert "| factor | 1.00 | 2000 | 500 | 100.0 | 100.0 | 150.0 | 1.5 |" in text
    assert "| residual | 1.00 | 2000 | 500 | 100.0 | 200.0 | 150.0 | 0.8 |" in text
    assert "Exponent, stacked, 10 to 40: 1.50." in text
    assert phases.exponent(grown) == pytest.approx(1.5)
