"""The same Jacobian of Phi by CasADi: the tape of rtmbs step by step as SX, CasADi's own sparse Jacobian of it.

As in ``jacobian_casadi`` it is built plain and with common subexpressions shared, and the faster of the two counts.

    python -m bench.peers.phi_casadi [--write]    the two side by side, one thread, fastest of many calls
"""

import numpy as np

from bench.documents import KINEMATICS, table, told
from bench.peers import phi_trace
from bench.peers.jacobian_casadi import quicker
from rtmbs.ad import Evaluator

ROUNDS = 5


def measure(loops: int) -> dict[str, float]:
    """Return microseconds of one Jacobian, seconds of preparation, operations, entries; ValueError if they differ."""
    known = phi_trace.recorded(loops)
    own = Evaluator(known.tape).jacobian(known.q, known.f)
    milliseconds, rest = quicker(known.tape, known.q, known.f, own)
    return {"jacobian_us": 1e3 * milliseconds, **rest}


def main() -> None:
    """Measure the two in turns, and print the medians."""
    rows = []
    for loops in phi_trace.SIZES:
        pairs = [(phi_trace.measure(loops), measure(loops)) for _ in range(ROUNDS)]
        ours, theirs = (float(np.median([pair[k]["jacobian_us"] for pair in pairs])) for k in (0, 1))
        own, other = pairs[-1]
        rows.append(
            [
                f"{loops} loops" if loops else "slider-crank", f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}",
                f"{own['prepare_s']:.3f}", f"{other['prepare_s']:.3f}", f"{own['entries']}", f"{own['operations']}",
                f"{other['operations']:.0f}",
            ]
        )  # fmt: skip
    head = ["Phi_q of", "rtmbs [us]", "CasADi [us]", "rtmbs / CasADi", "prepared [s]", "CasADi [s]", "entries"]
    told(table([*head, "operations", "CasADi"], rows), KINEMATICS, "python -m bench.peers.phi_casadi")


if __name__ == "__main__":
    main()
