"""The same Jacobian of Phi by CasADi: the record of rtmbs step by step as SX, CasADi's own sparse Jacobian of it.

As in ``jacobian_casadi`` it is built plain and with common subexpressions shared, and the faster of the two counts.

    python -m bench.peers.phi_casadi [--write]    the two side by side, one thread, fastest of many calls
"""

import time

import casadi
import numpy as np

from bench.documents import KINEMATICS, table, told
from bench.peers import phi_trace
from bench.peers.jacobian_casadi import EXACT, RULES, Buffered, jacobian
from bench.peers.jacobian_trace import fastest
from rtmbs.ad import Replay
from rtmbs.ad import operations as o

RULES.setdefault(o.ARCTAN2, casadi.atan2)
ROUNDS = 5


def measure(loops: int) -> dict[str, float]:
    """Return microseconds of one Jacobian, seconds of preparation, operations, entries; ValueError if they differ."""
    known = phi_trace.recorded(loops)
    own, answers = Replay(known.record).jacobian(known.q, known.f), []
    for shared in (False, True):
        before = time.perf_counter()
        function = jacobian(known.record, shared)
        prepare = time.perf_counter() - before
        buffered = Buffered(function, known.q, known.f)
        answers.append(
            {
                "jacobian_us": 1e3 * fastest(buffered.evaluate),
                "prepare_s": prepare,
                "operations": function.n_instructions() - function.n_in() - function.n_out(),
                "entries": len(buffered.entries),
            }
        )
        found = np.array(casadi.DM(function.sparsity_out(0), buffered.entries))
        apart = float(np.abs(found - own).max() / np.abs(own).max())
        if apart > EXACT:
            raise ValueError(f"the Jacobians of rtmbs and CasADi are {apart:.1e} apart; they must be of the same Phi")
    return min(answers, key=lambda answer: answer["jacobian_us"])


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
