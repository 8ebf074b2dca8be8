"""The same four-bar in Exudyn: bodies with six coordinates, and a constraint for every joint."""

import exudyn as exu
import numpy as np
from exudyn.itemInterface import (
    GenericJoint,
    MarkerBodyRigid,
    ObjectGround,
    SensorMarker,
)  # fmt: skip
from exudyn.utilities import RigidBodyInertia

A, B, C, D = np.array([[0, 0, 0], [0.1, 0.4, 0], [1, 0.9, 0], [1.2, 0, 0]])

container = exu.SystemContainer()
mbs = container.AddSystem()
ground = mbs.AddObject(ObjectGround())


def bar(start, end):
    moment = np.linalg.norm(end - start) ** 2 / 12
    inertia = RigidBodyInertia(mass=1.0, inertiaTensor=moment * np.eye(3))
    body = mbs.CreateRigidBody(inertia=inertia, referencePosition=(start + end) / 2, gravity=[0, -9.81, 0])
    return body, (start + end) / 2


crank, coupler, rocker = bar(A, B), bar(B, C), bar(D, C)


def hinge(one, other, point):
    markers = [
        mbs.AddMarker(MarkerBodyRigid(bodyNumber=body, localPosition=point - middle)) for body, middle in (one, other)
    ]
    mbs.AddObject(GenericJoint(markerNumbers=markers, constrainedAxes=[1, 1, 0, 0, 0, 0]))  # planar: two equations
    return markers[1]


base = (ground, np.zeros(3))
hinge(base, crank, A)
hinge(crank, coupler, B)
pin = hinge(coupler, rocker, C)
hinge(base, rocker, D)
sensor = mbs.AddSensor(
    SensorMarker(markerNumber=pin, outputVariableType=exu.OutputVariableType.Position, writeToFile=False)
)

mbs.Assemble()
settings = exu.SimulationSettings()
settings.timeIntegration.endTime, settings.timeIntegration.numberOfSteps = 1.0, 1000
settings.timeIntegration.verboseMode = 0
mbs.SolveDynamic(settings)
print(mbs.GetSensorValues(sensor))
