"""The same mechanism in other units of mass and length: gravity stays, so time goes with the square root of length."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtmbs import (
    Fixed,
    IterationMeter,
    Model,
    Motor,
    Planar,
    Prismatic,
    Result,
    Revolute,
    Simulation,
    Spherical,
    SpringDamper,
    TorsionSpring,
    Wrench,
    library,
)
from rtmbs.library.linkages import add_bar
from rtmbs.model import Force, ForceLaw
from rtmbs.simulation.options import by_name

Array = NDArray[np.float64]

SCALES = ((1e-6, 1.0), (1e6, 1.0), (1.0, 1e-3), (1.0, 1e3), (1e6, 1e-3), (1e-6, 1e3))  # (mass, length)
STEPS, STEP = 100, 2.5e-3  # steps, step at scale one [s]


def scaled(model: Model, mass: float, length: float) -> Model:
    """Return ``model`` with masses times ``mass`` and lengths times ``length``; forces and rates as gravity demands.

    The axes of joints must be given in world axes, force values as numbers; drivers are not scaled.
    """
    assert not model.drivers
    second = math.sqrt(length)
    new = Model(model.name, gravity=model.gravity)
    for body in model.bodies.values():
        if body.name != model.ground.name:
            new.add_body(
                body.name,
                mass=mass * body.mass,
                center_of_mass=length * body.center_of_mass,
                inertia=mass * length**2 * body.inertia,
                position=length * body.position,
                orientation=body.orientation,
            )
    for joint in model.joints.values():
        points = {"point_a": length * joint.point_a, "point_b": length * joint.point_b}
        new.add_joint(joint.name, joint.type, joint.a.name, joint.b.name, **points, cut=joint.cut)
    for marker in model.markers.values():
        new.add_marker(marker.name, marker.body.name, length * marker.point, frame=marker.body.name)
    for rod in model.rods.values():
        new.add_rod(rod.name, between=(rod.between[0].name, rod.between[1].name), length=length * rod.length)
    for force in model.forces.values():
        add_scaled_force(new, force, mass, length)
    for name, initial in model.initials.items():
        units = np.array([length if unit == "m" else 1.0 for unit in initial.joint.type.units()])
        place = None if initial.position is None else initial.position * (units if len(units) else 1.0)
        rate = None if initial.rate is None else initial.rate * (units if len(units) else 1.0) / second
        new.set_initial(name, place, rate, pin=initial.pin, weight=initial.weight)
    return new


def add_scaled_force(model: Model, force: Force, mass: float, length: float) -> None:
    """Add a scaled copy of ``force`` to ``model``."""
    law, second = force.law, math.sqrt(length)
    newton = mass  # gravity is the same
    scaled_law: ForceLaw
    if isinstance(law, SpringDamper):
        free = None if law.length is None else length * law.length
        scaled_law = SpringDamper(law.stiffness * newton / length, law.damping * newton * second / length, free)
        assert force.between
        model.add_force(force.name, scaled_law, between=(force.between[0].name, force.between[1].name))
    elif isinstance(law, Wrench):
        scaled_law = replace(law, force=newton * np.asarray(law.force), torque=newton * length * np.asarray(law.torque))
        assert force.body
        assert force.point is not None
        model.add_force(force.name, scaled_law, body=force.body.name, point=length * force.point)
    else:
        assert force.joint
        joint, k = force.joint
        turns = joint.type.units()[k] == "rad"
        load, unit = (newton * length, 1.0) if turns else (newton, length)
        if isinstance(law, TorsionSpring):
            per_unit = load / unit
            scaled_law = TorsionSpring(law.stiffness * per_unit, law.damping * per_unit * second, law.angle * unit)
        else:
            assert isinstance(law, Motor)
            scaled_law = Motor(load * law.value)
        model.add_force(force.name, scaled_law, joint=(joint.name, joint.type.coordinates[k]))


def sprung_slider_crank() -> Model:
    """The spatial slider-crank with a spring and damper from slider to ground and a torsional one on the crank."""
    model = library.build("slider_crank")
    model.add_marker("post", "ground", (0.1, 0.05, 0.0))
    model.add_marker("eye", "slider", (0.2, 0.05, 0.0))
    model.add_force("coil", SpringDamper(stiffness=60.0, damping=0.5, length=0.12), between=("post", "eye"))
    model.add_force("helix", TorsionSpring(stiffness=0.2, damping=0.01, angle=0.5), joint="pivot")
    return model


def cut_slide() -> Model:
    """A planar slider-crank that is cut at its slide: three rotation closures; a ball on its rod carries a wrench."""
    model = Model("cut slide")
    add_bar(model, "crank", (0, 0, 0), (0, 0.2, 0.2))
    add_bar(model, "rod", (0, 0.2, 0.2), (0, 1.0, 0), 2.0)
    model.add_body("slider", mass=3.0, inertia=(0.02, 0.03, 0.02), position=(0, 1.0, 0))
    model.add_body("ball", mass=0.5, center_of_mass=(0, 0, -0.3), inertia=(0.02, 0.03, 0.01), position=(0, 0.6, 0.1))
    model.add_joint("pivot", Revolute((1, 0, 0)), "ground", "crank", point=(0, 0, 0))
    model.add_joint("pin", Revolute((1, 0, 0)), "crank", "rod", point=(0, 0.2, 0.2))
    model.add_joint("wrist", Revolute((1, 0, 0)), "rod", "slider", point=(0, 1.0, 0))
    model.add_joint("slide", Prismatic((0, 1, 0)), "ground", "slider", point=(0, 1.0, 0), cut=True)
    model.add_joint("socket", Spherical(), "rod", "ball", point=(0, 0.6, 0.1))
    model.add_force("wind", Wrench(force=(0.5, 0.2, 0), torque=(0.02, 0, 0.01)), body="ball")
    model.set_initial("pivot", position=0.0, rate=3.0)
    model.set_initial("socket", rate=(1.0, 0.5, -2.0))
    return model


def welded_plate() -> Model:
    """A plate that slides on a table, a tail hinged to it, and a brace welded to the tail by a cut: six equations."""
    model = Model("plate")
    model.add_body("plate", mass=2.0, inertia=(0.2, 0.2, 0.35))
    model.add_body("tail", mass=1.0, inertia=(0.1, 0.08, 0.05), position=(0.5, 0, 0), center_of_mass=(0.3, 0, 0))
    model.add_body("brace", mass=0.3, inertia=(0.02, 0.02, 0.02), position=(0.5, 0.2, 0))
    model.add_joint("table", Planar((0, 0.3, 1)), "ground", "plate", point=(0, 0, 0))
    model.add_joint("hinge", Revolute((0, 1, 0)), "plate", "tail", point=(0.5, 0, 0))
    model.add_joint("second", Revolute((0, 1, 0)), "plate", "brace", point=(0.5, 0, 0))
    model.add_joint("weld", Fixed(), "tail", "brace", point=(0.5, 0.2, 0), cut=True)
    model.add_marker("anchor", "ground", (-1, 0, 0))
    model.add_marker("hook", "plate", (-0.2, 0, 0))
    model.add_force("rope", SpringDamper(20.0, 0.4), between=("anchor", "hook"))
    model.set_initial("table", position=(0.0, 0.0, 0.0), rate=(0.5, 0.2, 1.0))
    return model


MECHANISMS: dict[str, Callable[[], Model]] = {
    "crank-rocker": lambda: library.build("crank_rocker", rate=3.0),
    "spatial slider-crank, sprung": sprung_slider_crank,
    "slider-crank cut at the slide": cut_slide,
    "plate with a cut weld": welded_plate,
    "stacked 2 x 3": lambda: library.build("fourbar", ny=2, nz=3),
    "heavy top": lambda: library.build("top"),
}


class Sameness(NamedTuple):
    """How far the scaled motion is from that at scale one."""

    motion: float  # largest difference of a position or velocity, in its own unit over the whole motion
    iterations: float  # difference of the mean Newton iterations a step


def sameness(model: Model, mass: float, length: float, **options: Any) -> Sameness:
    """Run ``model`` as it is and scaled, and compare without units."""
    (plain, mean), (other, other_mean) = run(model, 1.0, 1.0, options), run(model, mass, length, options)
    return Sameness(float(np.max(np.abs(plain - other))), abs(mean - other_mean))


def run(model: Model, mass: float, length: float, options: dict[str, Any]) -> tuple[Array, float]:
    """Return the dimensionless motion of every body (samples, k) and the mean iterations a step."""
    second = math.sqrt(length)
    sim = Simulation(scaled(model, mass, length).compile(), h=STEP * second, **by_name(**options))
    meter = IterationMeter()
    result = sim.run(STEPS * sim.h, observers=[meter])
    return dimensionless(result, sim.system.bodies, length), meter.mean


def dimensionless(result: Result, bodies: Any, length: float) -> Array:
    """Return position / L, orientation, velocity / sqrt(L) and angular velocity sqrt(L) of all bodies, side by side.

    Each channel is divided by the largest size it has at scale one in these units, or one.
    """
    second = math.sqrt(length)
    units = {"position": length, "orientation": 1.0, "velocity": length / second, "angular_velocity": 1.0 / second}
    columns = []
    for name in bodies:
        if name == "ground":
            continue
        for part, unit in units.items():
            values = result[f"{name}.{part}"] / unit
            columns.append(values / max(1.0, float(np.max(np.abs(values)))))
    return np.concatenate(columns, axis=1)
