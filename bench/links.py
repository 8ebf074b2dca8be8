"""Second derivatives of a step by links and by entries: ``python -m bench.links`` prints both and their products.

Multiple four-bars by gravity, one case of their steps: derivatives by iterates of the equations behind the increment
(METHODS 1.37). A step takes the cheaper of both.
"""

import numpy as np

import rtmbs
from bench.documents import table
from rtmbs.ad.derivative_graph import linearised, restricted
from rtmbs.ad.derivative_tapes import ORDERS, SAVED, cheapest, edges_left, links_left, sparing
from rtmbs.ad.vertex_elimination import PRODUCTS
from rtmbs.studies.sensitivities.parameters import parameters_of
from rtmbs.studies.sensitivities.sensitivity import prepare, private_simulation
from rtmbs.studies.sensitivities.step_tape import StepCase, StepTape

SIZES = ((1, 1), (1, 4), (1, 10))  # n_y x n_z
H = 5e-3


def recorder(ny: int, nz: int) -> StepTape:
    """Return the recorder of the steps of a multiple four-bar, by gravity."""
    model = rtmbs.library.build("fourbar", ny=ny, nz=nz)
    sim = private_simulation(rtmbs.Simulation(model.compile(), h=H))
    return prepare(sim, parameters_of(sim, ["gravity"], None, {}, sim.state.t + H * np.arange(3)))[1]


def costs(tape: StepTape) -> tuple[int, int, int, int]:
    """Return entries and their products, and links and their products."""
    recorded, by, of = tape.recorded(StepCase(1, (True,) * tape.nc), True)
    part = restricted(linearised(recorded), by, of)
    full, _ = cheapest(part, ORDERS)
    work = sparing(part)
    links = links_left(part, work, len(of), len(by))[2]
    return len(edges_left(full)[0]), int(full.sizes[PRODUCTS]), len(links), int(work.sizes[PRODUCTS])


def main() -> None:
    """Print the table."""
    rows = []
    for ny, nz in SIZES:
        entries, products, links, fewer = costs(recorder(ny, nz))
        taken = products - fewer > SAVED * max(links - entries, 1)
        rows.append([f"{ny} x {nz}", *map(str, (entries, products, links, fewer)), "links" if taken else "entries"])
    print(table(["four-bar", "entries", "products", "links", "products with links", "taken"], rows))


if __name__ == "__main__":
    main()
