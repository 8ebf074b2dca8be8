"""The description of a mechanism: bodies, joints, markers, forces, drivers and initial values, in SI units."""

from rtmbs.model.body import Body
from rtmbs.model.constraints import Constraint, Coupler, Driver
from rtmbs.model.contacts import KnifeEdge, RollingContact
from rtmbs.model.forces import FORCE_TYPES, Bushing, Force, ForceLaw, Input, Motor, SpringDamper, TorsionSpring, Wrench
from rtmbs.model.joint import Initial, Joint
from rtmbs.model.joints import (
    JOINT_TYPES,
    Cylindrical,
    Dof,
    Fixed,
    Floating,
    JointEquation,
    JointType,
    Line,
    Planar,
    Prismatic,
    Revolute,
    Screw,
    Spherical,
    Universal,
)
from rtmbs.model.markers import Marker, Rod
from rtmbs.model.mesh import Mesh
from rtmbs.model.model import Model
from rtmbs.model.profiles import PROFILES, ConstantRate, Function, Profile, Sine, SmoothStep, Spline, Staircase
from rtmbs.model.shapes import Bar, Box, Cylinder, Looks, Shape, Sphere, Surface, mass_properties

__all__ = [
    "FORCE_TYPES",
    "JOINT_TYPES",
    "PROFILES",
    "Bar",
    "Body",
    "Box",
    "Bushing",
    "ConstantRate",
    "Constraint",
    "Coupler",
    "Cylinder",
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
    "KnifeEdge",
    "Line",
    "Looks",
    "Marker",
    "Mesh",
    "Model",
    "Motor",
    "Planar",
    "Prismatic",
    "Profile",
    "Revolute",
    "Rod",
    "RollingContact",
    "Screw",
    "Shape",
    "Sine",
    "SmoothStep",
    "Sphere",
    "Spherical",
    "Spline",
    "SpringDamper",
    "Staircase",
    "Surface",
    "TorsionSpring",
    "Universal",
    "Wrench",
    "mass_properties",
]
