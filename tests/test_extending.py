"""docs/extending.md runs: its code blocks are executed, and what they add is simulated."""

import re
import subprocess
import sys
from pathlib import Path

from tests.patches import applied, edits, run

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"

TEXT = """MODEL added SYSTEM (DYNAMIC ANALYSIS);
PENDULUM bob (length = 500 mm, pivot = (1, 0, 0));
BODY sled (mass = 1, inertia = (1, 1, 1));
triad a (body = ground); triad b (body = sled); triad c (body = ground, origin = (3, 0, 0));
pin in slot joint slot (triad = a, triad = b);
cable pull (triad = b, triad = c, tension = 2 N);
ENDMODEL
"""

USE = """
import numpy as np
import rtmbs

m = rtmbs.Model("added")
slider = m.add_body("slider", mass=2.0, inertia=(0.1, 0.1, 0.1))
m.add_joint("groove", PinInSlot(slot=(1, 0, 0), pin=(0, 1, 0)), m.ground, slider)
hook = m.add_marker("hook", m.ground, (3.0, 0.0, 0.0))
eye = m.add_marker("eye", slider, (0.0, 0.0, 0.0))
m.add_force("cable", Cable(4.0), between=(hook, eye))
sim = rtmbs.Simulation(m.compile(), h=1e-2)
result = sim.run(1.0)
np.testing.assert_allclose(result["groove.displacement"][-1], 0.5 * 4.0 / 2.0, rtol=1e-9)
sim.inputs["cable.tension"] = 0.0
sim.run(2.0)

m = rtmbs.Model("cut")
arm = m.add_body("arm", mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
m.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), m.ground, arm)
block = m.add_body("block", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
m.add_joint("slide", rtmbs.Prismatic(axis=(1, 0, 0)), m.ground, block, point=(1, 0, 0))
m.add_joint("groove", PinInSlot(slot=(0, 0, 1), pin=(0, 1, 0)), block, arm, point=(1, 0, 0), cut=True)
sim = rtmbs.Simulation(m.compile(), h=1e-3)
assert sim.start_report.degrees_of_freedom == 1
E = [sum(sim.equations.energies(s.z, s.zd, s.R0)) for s in (sim.state.copy(),)]
sim.run(0.2)
s = sim.state
assert abs(sum(sim.equations.energies(s.z, s.zd, s.R0)) - E[0]) < 1e-4

from rtmbs.language import build, format, write

document = build(TEXT)
assert type(document.model.joints["slot"].type) is PinInSlot
assert build(write(document)).model.compile().fingerprint == document.model.compile().fingerprint
sim = rtmbs.Simulation(document.model.compile(), h=1e-2)
result = sim.run(0.1)
np.testing.assert_allclose(result["bob pin.angle"], 0.0, atol=1e-12)
assert np.linalg.norm(result["sled.position"][-1]) > 1e-3
assert "pendulum bob (length = 500 mm" in format(TEXT)

system, ends = rtmbs.library.build("crank_rocker").compile(), []
for h in (2e-3, 1e-3, 5e-4):
    sim = rtmbs.Simulation(system, h, Euler())
    sim.run(0.1)
    ends.append(sim.state.z.copy())
order = np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())
assert 0.8 < order < 1.2, order
print("fine")
"""


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 4
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*blocks, f"TEXT = {TEXT!r}", USE])],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"


MAGNETS = """
import numpy as np
import rtmbs
from rtmbs.language import build, write
from rtmbs.semirecursive.sources import make_source

assert "COPY" in rtmbs.__file__
rng = np.random.default_rng(1)
m = rtmbs.Model("magnets")
last = "ground"
for k in range(3):
    m.add_body(f"b{k}", mass=1.0 + 7.0 * k, center_of_mass=rng.normal(size=3) / 5, inertia=(0.2, 0.3, 0.25))
    joint = (rtmbs.Revolute(axis=(0.2, 1, 0.1)), rtmbs.Spherical(), rtmbs.Prismatic(axis=(1, 0, 0)))[k]
    m.add_joint(f"j{k}", joint, last, f"b{k}", point=rng.normal(size=3))
    last = f"b{k}"
m.add_marker("a", "b0", rng.normal(size=3))
m.add_marker("b", "b2", rng.normal(size=3))
m.add_marker("g", "ground", (3, 2, 1))
m.add_force("near", rtmbs.Magnet(4.0), between=("a", "b"))
m.add_force("far", rtmbs.Magnet(2.0), between=("g", "b"))
m.add_force("spring", rtmbs.SpringDamper(3.0, 0.1), between=("a", "g"))

system = m.compile()
sim = rtmbs.Simulation(system, h=1e-3)
state, equations = sim.state, sim.equations
state.zd[:] = rng.normal(size=system.n)
equations.residual(state.z, state.zd, np.zeros(system.n), state.R0)
found = equations.assemble(0.0, 0.0, 1.0), equations.assemble(0.0, 1.0, 0.0)
for name in ("complex-step", "autograd"):
    wanted = make_source(name, system)(state.z, state.zd, state.R0, state.u)
    for mine, theirs in zip(found, wanted):
        np.testing.assert_allclose(mine, theirs, atol=1e-11 * np.abs(wanted[0]).max())

sim = rtmbs.Simulation(system, h=1e-3)
sim.inputs["near.strength"] = 5.0
result = sim.run(0.01)
np.testing.assert_allclose(result["near.pull"], 5.0 / result["near.length"] ** 2, rtol=1e-12)
gap = np.linalg.norm(result["b.position"] - result["a.position"], axis=1)
np.testing.assert_allclose(result["near.length"], gap, rtol=1e-12)
document = build(write(m))
assert document.model.compile().fingerprint == system.fingerprint
assert type(document.model.forces["far"].law) is rtmbs.Magnet

bare = rtmbs.Model("bare", gravity=(0, 0, 0))
bare.add_body("p", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
bare.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "p", point=(1, 0, 0))
bare.add_marker("o", "ground")
bare.add_marker("e", "p", (1, 0, 0))
bare.add_force("pull", rtmbs.Magnet(3.0), between=("o", "e"))
result = rtmbs.Simulation(bare.compile(), h=1e-3).run(0.1)
E = result["energy.total"]
assert abs(E[0] + 3.0) < 1e-12
assert np.max(np.abs(E - E[0])) < 1e-5
np.testing.assert_allclose(result["rail.acceleration"][0], -1.5, rtol=1e-9)
print("fine")
"""


def test_a_kind_of_force_is_the_patch_that_the_page_says(tmp_path: Path) -> None:
    found = edits("extending.md", "... force")
    others = {edit.path for edit in found if edit.kind == "diff"} - {"rtmbs/forces/register.py"}
    assert sum(edit.kind == "python" for edit in found) == 1
    assert len(others) <= 4, "one new file, the register, and at most four others"
    copy = applied(found, tmp_path / "COPY")
    assert run(copy, MAGNETS).strip() == "fine"
