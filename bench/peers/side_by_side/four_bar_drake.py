"""The same four-bar in Drake: a tree of joint coordinates, and a ball constraint that closes the loop."""

import numpy as np
from pydrake.math import RigidTransform
from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator

A, B, C, D = np.array([[0, 0, 0], [0.1, 0.4, 0], [1, 0.9, 0], [1.2, 0, 0]])

plant = MultibodyPlant(1e-4)
plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
plant.mutable_gravity_field().set_gravity_vector([0, -9.81, 0])


def bar(name, start, end):
    middle, moment = (end - start) / 2, np.linalg.norm(end - start) ** 2 / 12
    central = UnitInertia(moment, moment, moment)
    return plant.AddRigidBody(name, SpatialInertia(1.0, middle, central.ShiftFromCenterOfMass(middle)))


def hinge(name, above, place, below):
    frame = plant.AddFrame(FixedOffsetFrame(f"{name}_frame", above.body_frame(), RigidTransform(place)))
    plant.AddJoint(RevoluteJoint(name, frame, below.body_frame(), [0, 0, 1]))


crank, coupler, rocker = bar("crank", A, B), bar("coupler", B, C), bar("rocker", D, C)
hinge("a", plant.world_body(), A, crank)
hinge("b", crank, B - A, coupler)
hinge("d", plant.world_body(), D, rocker)
plant.AddBallConstraint(coupler, C - B, rocker, C - D)  # closes the loop
plant.Finalize()

simulator = Simulator(plant)
simulator.AdvanceTo(1.0)
pose = plant.EvalBodyPoseInWorld(simulator.get_context(), rocker)
print(pose.multiply(C - D))
