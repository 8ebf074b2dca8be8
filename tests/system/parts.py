"""Random mechanisms side by side in one model, every kind of element and of force law in each."""

import numpy as np

from tests.contracts.machines import beside, closed_model, movable


def line(t, kinematics, parameters):
    """A stiffening line with damping between two markers."""
    length = np.sqrt(np.dot(kinematics.r, kinematics.r) + 1e-6)
    return parameters["stiffness"] * (length - 0.8) + 0.3 * np.dot(kinematics.r, kinematics.v) / length


def follower(t, kinematics, parameters):
    """A wrench that turns with the body and looks at its spin."""
    R, w = kinematics.R, kinematics.w
    return R @ parameters["force"], -0.1 * w + 0.05 * R[:, 2]


def coupling(t, kinematics, parameters):
    """Two coordinates hold each other, and one looks at the other's sign, of which there is no derivative."""
    z, zd = kinematics.z, kinematics.zd
    pull = parameters["stiffness"] * np.sin(z[0] - z[1])
    return np.stack((-pull - 0.1 * zd[0], pull + np.where(z[0] > 0.0, 0.2, -0.2)))


def with_laws(seed, **options):
    """Return a random closed model with recorded force laws on frames, bodies and joints."""
    model = closed_model(seed, **options)
    rng = np.random.default_rng((seed, 11))
    moving = [force.body.name for force in model.forces.values() if force.body is not None]
    ends = (
        model.add_marker("law post", "ground", rng.normal(size=3) + 2.0),
        model.add_marker("law eye", moving[0], rng.normal(size=3)),
    )
    model.add_force("line", line, between=ends, parameters={"stiffness": 4.0})
    model.add_force("follower", follower, body=moving[0], parameters={"force": (0.5, 0.0, 1.0)})
    model.add_force("coupling", coupling, joints=movable(model)[:2], parameters={"stiffness": 2.0})
    return model


def pair(seeds, **options):
    """Return random models side by side, with laws."""
    return beside(*(with_laws(seed, **options) for seed in seeds))
