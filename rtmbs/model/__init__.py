"""What the user writes: bodies, joints, markers, forces, drivers and initial values, by name and in SI units."""

from rtmbs.model.body import Body
from rtmbs.model.constraints import Constraint
from rtmbs.model.couplers import Coupler
from rtmbs.model.drivers import Driver
from rtmbs.model.forces import FORCE_TYPES, Bushing, Force, ForceLaw, Input, Motor, SpringDamper, TorsionSpring, Wrench
from rtmbs.model.initial import Initial
from rtmbs.model.joint import Joint
from rtmbs.model.joint_equations import JointEquation
from rtmbs.model.joints import (
    JOINT_TYPES,
    Cylindrical,
    Dof,
    Fixed,
    Floating,
    JointType,
    Line,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from rtmbs.model.markers import Marker
from rtmbs.model.model import Model
from rtmbs.model.profiles import PROFILES, ConstantRate, Function, Profile, Sine, SmoothStep, Spline, Staircase
from rtmbs.model.rods import Rod

__all__ = [
    "FORCE_TYPES",
    "JOINT_TYPES",
    "PROFILES",
    "Body",
    "Bushing",
    "ConstantRate",
    "Constraint",
    "Coupler",
    "Cylindrical",
    "Dof",
    "Driver",
    "Fixed",
    "Floating",
    "Force",
    "ForceLaw",
    "Function",
    "Initial",
    "Input",
    "Joint",
    "JointEquation",
    "JointType",
    "Line",
    "Marker",
    "Model",
    "Motor",
    "Planar",
    "Prismatic",
    "Profile",
    "Revolute",
    "Rod",
    "Sine",
    "SmoothStep",
    "Spherical",
    "Spline",
    "SpringDamper",
    "Staircase",
    "TorsionSpring",
    "Universal",
    "Wrench",
]
