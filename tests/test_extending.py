"""docs/extending.md runs: its code blocks are executed, and what they add is simulated."""

import re
import subprocess
import sys
from pathlib import Path

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
print("fine")
"""


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) == 3
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([*blocks, f"TEXT = {TEXT!r}", USE])],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"
