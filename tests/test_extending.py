"""docs/extending.md is a set of patches: each section is applied to a copy of the source, and what it adds is used."""

import re
from pathlib import Path

import pytest

from tests.cases import spread
from tests.patches import ROOT, applied, edits, run

PAGE = ROOT / "docs" / "extending.md"

JOINT = """
import numpy as np
import rtmbs
from rtmbs.language import build, write

m = rtmbs.Model("added", gravity=(2.0, 0, -9.81))
slider = m.add_body("slider", mass=2.0, inertia=(0.1, 0.1, 0.1))
m.add_joint("groove", rtmbs.model.PinInSlot(slot=(1, 0, 0), pin=(0, 1, 0)), m.ground, slider)
system = m.compile()
result = rtmbs.Simulation(system, h=1e-2).run(0.1)
np.testing.assert_allclose(result["groove.displacement"][-1], 0.5 * 2.0 * 0.1**2, rtol=1e-9)
assert build(write(m)).model.compile().fingerprint == system.fingerprint
assert "pin in slot joint groove" in write(m)

m = rtmbs.Model("cut")
arm = m.add_body("arm", mass=1.0, center_of_mass=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
m.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), m.ground, arm)
block = m.add_body("block", mass=1.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
m.add_joint("slide", rtmbs.Prismatic(axis=(1, 0, 0)), m.ground, block, point=(1, 0, 0))
m.add_joint("groove", rtmbs.model.PinInSlot(slot=(0, 0, 1), pin=(0, 1, 0)), block, arm, point=(1, 0, 0), cut=True)
sim = rtmbs.Simulation(m.compile(), h=1e-3)
assert sim.start_report.degrees_of_freedom == 1
result = sim.run(0.02)
E = result["energy.total"]
assert np.max(np.abs(E - E[0])) < 1e-4
np.testing.assert_allclose(result["slide.displacement"], np.cos(result["pivot.angle"]) - 1.0, atol=1e-8)
print("fine")
"""

LAW = """
import numpy as np
import rtmbs
from rtmbs.language import build, write
from rtmbs.model.forces import FORCE_TYPES

m = rtmbs.Model("pulled", gravity=(0, 0, 0))
sled = m.add_body("sled", mass=2.0, inertia=(0.1, 0.1, 0.1))
m.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), m.ground, sled)
hook = m.add_marker("hook", m.ground, (3.0, 0.0, 0.0))
eye = m.add_marker("eye", sled, (0.0, 0.0, 0.0))
m.add_force("cable", FORCE_TYPES["Cable"](4.0), between=(hook, eye))
system = m.compile()
sim = rtmbs.Simulation(system, h=1e-2)
np.testing.assert_allclose(sim.run(0.1)["rail.displacement"][-1], 0.5 * 2.0 * 0.1**2, rtol=1e-9)
sim.inputs["cable.tension"] = 0.0
sim.run(0.2)
np.testing.assert_allclose(sim.state.zd, 0.2, rtol=1e-9)
assert build(write(m)).model.compile().fingerprint == system.fingerprint
print("fine")
"""

MAGNETS = """
import numpy as np
import rtmbs
from rtmbs.forces.magnets import Magnet
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
m.add_force("near", Magnet(4.0), between=("a", "b"))
m.add_force("far", Magnet(2.0), between=("g", "b"))
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
assert type(document.model.forces["far"].law) is Magnet

bare = rtmbs.Model("bare", gravity=(0, 0, 0))
bare.add_body("p", mass=2.0, inertia=(0.1, 0.1, 0.1), position=(1, 0, 0))
bare.add_joint("rail", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "p", point=(1, 0, 0))
bare.add_marker("o", "ground")
bare.add_marker("e", "p", (1, 0, 0))
bare.add_force("pull", Magnet(3.0), between=("o", "e"))
result = rtmbs.Simulation(bare.compile(), h=1e-3).run(0.1)
E = result["energy.total"]
assert abs(E[0] + 3.0) < 1e-12
assert np.max(np.abs(E - E[0])) < 1e-5
np.testing.assert_allclose(result["rail.acceleration"][0], -1.5, rtol=1e-9)
print("fine")
"""

SOURCE = """
import numpy as np
import rtmbs
from rtmbs.semirecursive.sources import make_source

system = rtmbs.library.build("slider_crank").compile()
sim = rtmbs.Simulation(system, h=1e-3, jacobian="central-difference-page")
sim.step()
state = sim.state
found, exact = (
    make_source(name, system)(state.z, state.zd, state.R0, state.u)
    for name in ("central-difference-page", "complex-step")
)
for mine, theirs in zip(found, exact):
    np.testing.assert_allclose(mine, theirs, atol=1e-7 * np.abs(exact[0]).max())
print("fine")
"""

METHOD = """
import numpy as np
import rtmbs

system, ends = rtmbs.library.build("crank_rocker").compile(), []
for h in (4e-3, 2e-3, 1e-3):
    sim = rtmbs.Simulation(system, h, rtmbs.methods.Heun())
    sim.run(0.04)
    ends.append(sim.state.z.copy())
order = np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())
assert 1.8 < order < 2.2, order
assert rtmbs.METHODS["heun"] is rtmbs.methods.Heun
print("fine")
"""

FORMULATION = """
import numpy as np
import rtmbs.formulations as room
from rtmbs.formulations.function_system import rheonomic_double_pendulum

system, added = rheonomic_double_pendulum(), room.FORMULATIONS["udwadia-kalaba"]()
assert type(added) is room.UdwadiaKalaba
q, v = room.consistent_state(system, np.array([0.1, -1.0, 0.5, -1.6]), np.array([1.0, 0.0, 2.0, 0.5]), 0.3)
a, lam = room.Direct().accelerations(system, q, v, 0.3)
for method in (added, room.Baumgarte(20.0, 20.0, added)):
    found = method.accelerations(system, q, v, 0.3)
    np.testing.assert_allclose(found[0], a, rtol=1e-10)
    np.testing.assert_allclose(found[1], lam, rtol=1e-10)
print("fine")
"""

DAE_METHOD = """
import numpy as np
import rtmbs.dae as room
from rtmbs.formulations.function_system import pendulum

system, q, v, ends = pendulum(), np.array([0.6, -0.8]), np.array([0.8, 0.6]), []
for h in (4e-3, 2e-3, 1e-3):
    found = room.integrate(system, room.METHODS["taylor"](), q, v, 0.4, h)
    assert found.violations[:, :2].max() < 1e-12
    ends.append(found.q[-1])
order = np.log2(np.abs(ends[0] - ends[1]).max() / np.abs(ends[1] - ends[2]).max())
assert 1.8 < order < 2.2, order
assert room.METHODS["taylor"] is room.Taylor
import rtmbs
sim = rtmbs.Simulation(rtmbs.library.build("pendulum").compile(), 1e-2, rtmbs.methods.Taylor())
assert abs(sim.run(0.1)["pivot.angle"][-1] - rtmbs.Simulation(sim.system, 1e-2).run(0.1)["pivot.angle"][-1]) < 1e-3
print("fine")
"""

SOLVER = """
import numpy as np
from rtmbs.numerics.linear import SOLVERS
from rtmbs.numerics.linear.solver import Unsolved

A = np.array([[0.0, 2.0, 0.0], [3.0, 0.0, 1.0], [1e-9, 0.0, 5e-9]])  # rows of different units
solver = SOLVERS["qr"].of(A)
assert solver.factor(A) == 0
np.testing.assert_allclose(A @ solver.solve(np.array([1.0, 2.0, 3e-9])), [1.0, 2.0, 3e-9], rtol=1e-12)
assert solver.factor(np.ones((2, 2))) > 0
try:
    solver.solve(np.ones(2))
except Unsolved:
    print("fine")
"""

MECHANISM = """
import numpy as np
import rtmbs

assert "double_pendulum" in rtmbs.library.names()
sim = rtmbs.Simulation(rtmbs.library.build("double_pendulum", length=2.0).compile(), h=1e-3)
np.testing.assert_allclose(sim.state.zdd, [-9.81 / 2.0, 9.81 / 2.0], rtol=1e-9)
sim.step()
sim.step()
assert sim.start_report.degrees_of_freedom == 2
print("fine")
"""

CONSTRAINT = """
import numpy as np
import rtmbs
from rtmbs.kinematics import Analysis, PointOnSurface

m = rtmbs.Model("wave")
m.add_body("wave", mass=1.0, inertia=(1, 1, 1))
m.add_body("follower", mass=1.0, inertia=(1, 1, 1), position=(0, 0, 0.2))
m.add_joint("travel", rtmbs.Prismatic(axis=(1, 0, 0)), "ground", "wave")
m.add_joint("lift", rtmbs.Prismatic(axis=(0, 0, 1)), "ground", "follower", point=(0, 0, 0.2))
m.add_marker("tip", "follower", (0, 0, 0.2))
m.add_driver("drive", rtmbs.ConstantRate(rate=0.3), joint="travel")
surface = PointOnSurface("contact", "tip", "wave", lambda x: x[2] - 0.2 * np.cos(4.0 * x[0]))
analysis = Analysis(m, [surface])
motion = analysis.run(0.0, 1.0, 0.25)
x = 4.0 * 0.3 * motion.t
np.testing.assert_allclose(motion["tip.position"][:, 2], 0.2 * np.cos(x), atol=1e-9)
np.testing.assert_allclose(motion["lift.rate"], -0.2 * 1.2 * np.sin(x), atol=1e-9)
np.testing.assert_allclose(motion["lift.acceleration"], -0.2 * 1.2**2 * np.cos(x), atol=1e-8)
assert "contact" in analysis.check()
print("fine")
"""

DRIVER = """
import numpy as np
import rtmbs
from rtmbs.errors import ModelError
from rtmbs.kinematics import Analysis
from rtmbs.language import build, write

m = rtmbs.Model("bar")
m.add_body("bar", mass=1.0, inertia=(1, 1, 1))
m.add_joint("pivot", rtmbs.Revolute(axis=(0, 1, 0)), "ground", "bar")
m.add_marker("tip", "bar", (1, 0, 0))
driver = m.add_driver("lift", rtmbs.Sine(amplitude=0.5, frequency_rad_s=1.0), triad=("tip", "z"))
assert driver.target == "tip.z" and not driver.dynamic
motion = Analysis(m).run(0.0, 2.0, 0.5)
np.testing.assert_allclose(motion["tip.position"][:, 2], 0.5 * np.sin(motion.t), atol=1e-9)
np.testing.assert_allclose(motion["pivot.angle"], -np.arcsin(0.5 * np.sin(motion.t)), atol=1e-9)
again = build(write(m)).model
assert again.drivers["lift"].triad[1] == "z"
try:
    m.compile()
except ModelError as error:
    assert "tip.z" in str(error)
    print("fine")
"""

STATEMENT = """
import numpy as np
from rtmbs import Simulation
from rtmbs.language import build, format, write

TEXT = "MODEL added SYSTEM (DYNAMIC ANALYSIS); PENDULUM bob (length = 500 mm, pivot = (1, 0, 0)); ENDMODEL"
assert "pendulum bob (length = 500 mm" in format(TEXT)
document = build(TEXT)
body = document.model.bodies["bob"]
np.testing.assert_allclose(body.center_of_mass, (0, 0, -0.5))
document.model.set_initial("bob pin", position=np.pi / 2)
sim = Simulation(document.model.compile(), h=1e-3)
np.testing.assert_allclose(sim.state.zdd, -9.81 / 0.5, rtol=1e-9)
sim.step()
sim.step()
assert build(write(document)).model.compile().fingerprint == build(TEXT).model.compile().fingerprint
print("fine")
"""

USES = {
    "joint": JOINT,
    "force law": LAW,
    "force": MAGNETS,
    "source of K and C": SOURCE,
    "method of time integration": METHOD,
    "method of time for constrained systems": DAE_METHOD,
    "formulation": FORMULATION,
    "linear solver": SOLVER,
    "mechanism to the library": MECHANISM,
    "constraint of kinematics": CONSTRAINT,
    "driver of kinematics": DRIVER,
    "statement of the model language": STATEMENT,
}


@pytest.mark.parametrize("what", spread(USES, 6))
def test_a_section_is_a_patch_that_works(what: str, tmp_path: Path) -> None:
    copy = applied(edits("extending.md", f"... {what}"), tmp_path / "COPY")
    assert run(copy, f"import rtmbs; assert 'COPY' in rtmbs.__file__\n{USES[what]}").strip() == "fine"


def test_every_section_is_tested() -> None:
    headings = set(re.findall(r"^## \.\.\. (.*)$", PAGE.read_text(encoding="utf-8"), re.M))
    assert headings == {*USES, "observer", "engine of sweeps"}


@pytest.mark.parametrize("what", ["joint", "force law", "force", "method of time integration", "formulation"])
def test_an_element_is_one_file_and_one_line(what: str) -> None:
    found = edits("extending.md", f"... {what}")
    assert sorted(edit.kind for edit in found) == ["diff", "python"]
    (line,) = (edit.text.splitlines() for edit in found if edit.kind == "diff")
    before, after = ([one[1:] for one in line if one[0] == sign] for sign in "-+")
    assert len(after) == len(before) + 1


def example(what: str) -> str:
    """Return the only example of a section that needs no patch."""
    section = PAGE.read_text(encoding="utf-8").partition(f"## ... {what}\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.S)
    return block


def test_an_observer_needs_no_patch() -> None:
    assert 4.0 < float(run(ROOT, f"{example('observer')}\nprint(meter.value)")) < 4.5


RAIL = """
m = rtmbs.Model("added", gravity=(2.0, 0, -9.81))
m.add_body("slider", mass=2.0, inertia=(0.1, 0.1, 0.1))
m.add_joint("groove", RailPin(rail=(1, 0, 0), pin=(0, 1, 0)), "ground", "slider")
text = rtmbs.language.write(m)
assert "rail pin joint groove" in text
again = rtmbs.language.build(text).model
assert type(again.joints["groove"].type) is RailPin
assert again.compile().fingerprint == m.compile().fingerprint
result = rtmbs.Simulation(m.compile(), h=1e-2).run(0.1)
np.testing.assert_allclose(result["groove.displacement"][-1], 0.5 * 2.0 * 0.1**2, rtol=1e-9)
print("fine")
"""


EULER = """
def error(h):
    sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), h, rtmbs.METHODS["backward-euler"]())
    sim.run(0.04)
    return np.abs(sim.state.z - exact).max()


sim = rtmbs.Simulation(rtmbs.library.build("crank_rocker").compile(), 2e-4)
sim.run(0.04)
exact = sim.state.z.copy()
errors = error(4e-3), error(2e-3)
assert 0.8 < np.log2(errors[0] / errors[1]) < 1.2, errors
print("fine")
"""


def test_an_implicit_method_of_a_script_needs_no_patch() -> None:
    assert run(ROOT, f"{example('method of time integration')}\n{EULER}").strip() == "fine"


def test_a_joint_of_a_script_needs_no_patch() -> None:
    assert run(ROOT, f"{example('joint')}\n{RAIL}").strip() == "fine"


def test_an_engine_needs_no_patch() -> None:
    assert run(ROOT, f"{example('engine of sweeps')}\nprint(len(table), table.failed)").strip() == "2 {}"
