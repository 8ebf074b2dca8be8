"""Drake: joint coordinates, discrete time, SAP solver, loops by ball constraints."""

import time

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator

from bench.peers.mechanism import AXIAL, GRAVITY, GROUND, LENGTH, MASS, TRANSVERSE, Mechanism, Outcome

X = np.array([1.0, 0.0, 0.0])


def simulate(mechanism: Mechanism, h: float, steps: int) -> Outcome:
    """Run ``steps`` steps of ``h``; one step before, on a context of its own, warms up."""
    plant = built(mechanism, h)
    started(plant, mechanism).AdvanceTo(h)
    simulator = started(plant, mechanism)
    before = time.perf_counter()
    simulator.AdvanceTo(h * steps)
    seconds = time.perf_counter() - before

    context = simulator.get_context()
    poses = [plant.EvalBodyPoseInWorld(context, plant.GetBodyByName(bar.name)) for bar in mechanism.bars]
    starts = np.array([pose.translation() for pose in poses])
    return Outcome(seconds, starts, np.array([pose.rotation().matrix()[:, 1] for pose in poses]))


def built(mechanism: Mechanism, h: float) -> MultibodyPlant:
    """Return the finished plant; joint coordinates are turns of a bar from the one above."""
    plant = MultibodyPlant(h)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(np.array([0.0, 0.0, -GRAVITY]))
    middle = np.array([0.0, 0.5 * LENGTH, 0.0])
    central = UnitInertia(TRANSVERSE / MASS, AXIAL / MASS, TRANSVERSE / MASS)
    inertia = SpatialInertia(MASS, middle, central.ShiftFromCenterOfMass(middle))
    bodies = []
    for bar, pin in zip(mechanism.bars, mechanism.tree, strict=True):
        body = plant.AddRigidBody(bar.name, inertia)
        above = plant.world_body() if pin.a == GROUND else bodies[pin.a]
        place = RigidTransform(bar.start if pin.a == GROUND else np.array([0.0, pin.along_a, 0.0]))
        frame = plant.AddFrame(FixedOffsetFrame(f"{pin.name}_frame", above.body_frame(), place))
        joint = plant.AddJoint(RevoluteJoint(pin.name, frame, body.body_frame(), X, damping=0.0))
        joint.set_default_angle(mechanism.relative_turn(pin))
        bodies.append(body)
    for pin in mechanism.loops:
        on_a, on_b = np.array([0.0, pin.along_a, 0.0]), np.array([0.0, pin.along_b, 0.0])
        plant.AddBallConstraint(bodies[pin.a], on_a, bodies[pin.b], on_b)
    plant.SetUseSampledOutputPorts(False)  # a tenth faster: no copy of the state is kept for outputs
    plant.Finalize()
    return plant


def started(plant: MultibodyPlant, mechanism: Mechanism) -> Simulator:
    """Return a simulator at the start."""
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    for pin in mechanism.tree:
        plant.GetJointByName(pin.name).set_angular_rate(context, mechanism.relative_rate(pin))
    simulator.Initialize()
    return simulator
