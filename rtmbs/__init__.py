"""rtmbs: mechanisms with closed loops, simulated in real time.

    Model -> System -> Simulation -> results

Every public name below is resolved on first use (PEP 562): ``import rtmbs`` loads neither numba nor scipy.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

# The public names, sorted, and the module each one lives in.
HOMES = {
    "AdamsBashforth": "rtmbs.integrators.explicit",
    "At": "rtmbs.simulation.observers",
    "AtRate": "rtmbs.simulation.observers",
    "Bar": "rtmbs.model",
    "Batch": "rtmbs.batch.batch",
    "Box": "rtmbs.model",
    "Bushing": "rtmbs.model",
    "ChannelRecorder": "rtmbs.simulation.observers",
    "ConstantRate": "rtmbs.model",
    "CoupledFMU": "rtmbs.export.co_simulation",
    "Cylinder": "rtmbs.model",
    "Cylindrical": "rtmbs.model",
    "Dask": "rtmbs.studies.sweeps.engines",
    "Encoder": "rtmbs.robotics.motors",
    "EnergyMeter": "rtmbs.simulation.observers",
    "Equilibrium": "rtmbs.studies.analysis.equilibrium",
    "Event": "rtmbs.simulation.events",
    "EventError": "rtmbs.simulation.events",
    "Every": "rtmbs.simulation.observers",
    "EveryStep": "rtmbs.simulation.observers",
    "Fixed": "rtmbs.model",
    "Floating": "rtmbs.model",
    "ForceTorqueSensor": "rtmbs.robotics.motors",
    "Function": "rtmbs.model",
    "Grid": "rtmbs.studies.sweeps.designs",
    "IMU": "rtmbs.robotics.motors",
    "Input": "rtmbs.model",
    "InverseDynamics": "rtmbs.studies.analysis.inverse_dynamics",
    "IterationMeter": "rtmbs.simulation.observers",
    "LatinHypercube": "rtmbs.studies.sweeps.designs",
    "Line": "rtmbs.model",
    "LogUniform": "rtmbs.studies.sweeps.designs",
    "METHODS": "rtmbs.methods",
    "MarkerTrajectories": "rtmbs.robotics.inverse_kinematics",
    "Mesh": "rtmbs.model",
    "Model": "rtmbs.model",
    "MonteCarlo": "rtmbs.studies.sweeps.designs",
    "Motor": "rtmbs.model",
    "Normal": "rtmbs.studies.sweeps.designs",
    "Observer": "rtmbs.simulation.observers",
    "Outcome": "rtmbs.integrators.report",
    "Pacer": "rtmbs.simulation.pacing",
    "PenaltyTrapezoidal": "rtmbs.integrators.penalty_trapezoidal",
    "Planar": "rtmbs.model",
    "Prismatic": "rtmbs.model",
    "Processes": "rtmbs.studies.sweeps.engines",
    "Recorder": "rtmbs.simulation.observers",
    "RefinedResult": "rtmbs.simulation.refined",
    "Result": "rtmbs.results",
    "Revolute": "rtmbs.model",
    "Robot": "rtmbs.robotics.robot",
    "RtmbsError": "rtmbs.errors",
    "RtmbsWarning": "rtmbs.errors",
    "RungeKutta": "rtmbs.dae.runge_kutta",
    "Screw": "rtmbs.model",
    "SemiImplicitEuler": "rtmbs.integrators.explicit",
    "Sensitivity": "rtmbs.studies.sensitivities.sensitivity",
    "Serial": "rtmbs.studies.sweeps.engines",
    "Simulation": "rtmbs.simulation",
    "Sine": "rtmbs.model",
    "SmoothStep": "rtmbs.model",
    "Sphere": "rtmbs.model",
    "Spherical": "rtmbs.model",
    "Spline": "rtmbs.model",
    "SpringDamper": "rtmbs.model",
    "Staircase": "rtmbs.model",
    "State": "rtmbs.state",
    "StepReport": "rtmbs.integrators.report",
    "StepTimeMeter": "rtmbs.simulation.observers",
    "Surface": "rtmbs.model",
    "SweepResult": "rtmbs.studies.sweeps.result",
    "TRBDF2": "rtmbs.integrators.trbdf2",
    "TorsionSpring": "rtmbs.model",
    "Uniform": "rtmbs.studies.sweeps.designs",
    "Universal": "rtmbs.model",
    "VariationalMidpoint": "rtmbs.integrators.variational_midpoint",
    "VelocityVerlet": "rtmbs.integrators.explicit",
    "ViolationMeter": "rtmbs.simulation.observers",
    "Workload": "rtmbs.studies.analysis.workload",
    "Wrench": "rtmbs.model",
    "add_motor": "rtmbs.robotics.motors",
    "breaking": "rtmbs.simulation.events",
    "Touching": "rtmbs.simulation.contact_pairs",
    "touching": "rtmbs.simulation.contact_pairs",
    "campbell": "rtmbs.studies.analysis.campbell",
    "co_simulate": "rtmbs.export.co_simulation",
    "compare": "rtmbs.results",
    "control_system": "rtmbs.studies.analysis.linearisation",
    "differentiable": "rtmbs.studies.sensitivities.differentiable",
    "equilibria": "rtmbs.studies.analysis.equilibrium",
    "equilibrium": "rtmbs.studies.analysis.equilibrium",
    "export_fmu": "rtmbs.export.packages",
    "export_library": "rtmbs.export.packages",
    "driving_forces": "rtmbs.studies.analysis.inverse_dynamics",
    "inverse_dynamics": "rtmbs.studies.analysis.inverse_dynamics",
    "linearise": "rtmbs.studies.analysis.linearisation",
    "linearise_rolling": "rtmbs.studies.analysis.linearisation",
    "load_result": "rtmbs.results",
    "mass_properties": "rtmbs.model",
    "modes": "rtmbs.studies.analysis.modes",
    "preload": "rtmbs.studies.analysis.equilibrium",
    "read": "rtmbs.formats.files",
    "read_c3d": "rtmbs.robotics.inverse_kinematics",
    "refined": "rtmbs.simulation.refined",
    "register": "rtmbs.core.names",
    "sensitivity": "rtmbs.studies.sensitivities.sensitivity",
    "show": "rtmbs.viewer.notebook",
    "sweep": "rtmbs.studies.sweeps.sweep",
    "view": "rtmbs.viewer.view",
    "workload": "rtmbs.studies.analysis.workload",
    "write": "rtmbs.formats.files",
    "write_gltf": "rtmbs.formats.gltf",
}
ROOMS = (
    "contact",
    "dae",
    "errors",
    "formulations",
    "gym",
    "kinematics",
    "language",
    "library",
    "methods",
    "recursive",
    "vehicle",
)  # modules that are public names themselves

__all__ = sorted([*HOMES, *ROOMS, "__version__"])

if TYPE_CHECKING:  # the same names, for type checkers and editors; tests/test_imports.py holds the two together
    from rtmbs import contact as contact
    from rtmbs import dae as dae
    from rtmbs import errors as errors
    from rtmbs import formulations as formulations
    from rtmbs import gym as gym
    from rtmbs import kinematics as kinematics
    from rtmbs import language as language
    from rtmbs import library as library
    from rtmbs import methods as methods
    from rtmbs import recursive as recursive
    from rtmbs import vehicle as vehicle
    from rtmbs.batch.batch import Batch as Batch
    from rtmbs.core.names import register as register
    from rtmbs.dae.runge_kutta import RungeKutta as RungeKutta
    from rtmbs.errors import RtmbsError as RtmbsError
    from rtmbs.errors import RtmbsWarning as RtmbsWarning
    from rtmbs.export.co_simulation import CoupledFMU as CoupledFMU
    from rtmbs.export.co_simulation import co_simulate as co_simulate
    from rtmbs.export.packages import export_fmu as export_fmu
    from rtmbs.export.packages import export_library as export_library
    from rtmbs.formats.files import read as read
    from rtmbs.formats.files import write as write
    from rtmbs.formats.gltf import write_gltf as write_gltf
    from rtmbs.integrators.explicit import AdamsBashforth as AdamsBashforth
    from rtmbs.integrators.explicit import SemiImplicitEuler as SemiImplicitEuler
    from rtmbs.integrators.explicit import VelocityVerlet as VelocityVerlet
    from rtmbs.integrators.penalty_trapezoidal import PenaltyTrapezoidal as PenaltyTrapezoidal
    from rtmbs.integrators.report import Outcome as Outcome
    from rtmbs.integrators.report import StepReport as StepReport
    from rtmbs.integrators.trbdf2 import TRBDF2 as TRBDF2
    from rtmbs.integrators.variational_midpoint import VariationalMidpoint as VariationalMidpoint
    from rtmbs.methods import METHODS as METHODS
    from rtmbs.model import Bar as Bar
    from rtmbs.model import Box as Box
    from rtmbs.model import Bushing as Bushing
    from rtmbs.model import ConstantRate as ConstantRate
    from rtmbs.model import Cylinder as Cylinder
    from rtmbs.model import Cylindrical as Cylindrical
    from rtmbs.model import Fixed as Fixed
    from rtmbs.model import Floating as Floating
    from rtmbs.model import Function as Function
    from rtmbs.model import Input as Input
    from rtmbs.model import Line as Line
    from rtmbs.model import Mesh as Mesh
    from rtmbs.model import Model as Model
    from rtmbs.model import Motor as Motor
    from rtmbs.model import Planar as Planar
    from rtmbs.model import Prismatic as Prismatic
    from rtmbs.model import Revolute as Revolute
    from rtmbs.model import Screw as Screw
    from rtmbs.model import Sine as Sine
    from rtmbs.model import SmoothStep as SmoothStep
    from rtmbs.model import Sphere as Sphere
    from rtmbs.model import Spherical as Spherical
    from rtmbs.model import Spline as Spline
    from rtmbs.model import SpringDamper as SpringDamper
    from rtmbs.model import Staircase as Staircase
    from rtmbs.model import Surface as Surface
    from rtmbs.model import TorsionSpring as TorsionSpring
    from rtmbs.model import Universal as Universal
    from rtmbs.model import Wrench as Wrench
    from rtmbs.model import mass_properties as mass_properties
    from rtmbs.results import Result as Result
    from rtmbs.results import compare as compare
    from rtmbs.results import load_result as load_result
    from rtmbs.robotics.inverse_kinematics import MarkerTrajectories as MarkerTrajectories
    from rtmbs.robotics.inverse_kinematics import read_c3d as read_c3d
    from rtmbs.robotics.motors import IMU as IMU
    from rtmbs.robotics.motors import Encoder as Encoder
    from rtmbs.robotics.motors import ForceTorqueSensor as ForceTorqueSensor
    from rtmbs.robotics.motors import add_motor as add_motor
    from rtmbs.robotics.robot import Robot as Robot
    from rtmbs.simulation import Simulation as Simulation
    from rtmbs.simulation.contact_pairs import Touching as Touching
    from rtmbs.simulation.contact_pairs import touching as touching
    from rtmbs.simulation.events import Event as Event
    from rtmbs.simulation.events import EventError as EventError
    from rtmbs.simulation.events import breaking as breaking
    from rtmbs.simulation.observers import At as At
    from rtmbs.simulation.observers import AtRate as AtRate
    from rtmbs.simulation.observers import ChannelRecorder as ChannelRecorder
    from rtmbs.simulation.observers import EnergyMeter as EnergyMeter
    from rtmbs.simulation.observers import Every as Every
    from rtmbs.simulation.observers import EveryStep as EveryStep
    from rtmbs.simulation.observers import IterationMeter as IterationMeter
    from rtmbs.simulation.observers import Observer as Observer
    from rtmbs.simulation.observers import Recorder as Recorder
    from rtmbs.simulation.observers import StepTimeMeter as StepTimeMeter
    from rtmbs.simulation.observers import ViolationMeter as ViolationMeter
    from rtmbs.simulation.pacing import Pacer as Pacer
    from rtmbs.simulation.refined import RefinedResult as RefinedResult
    from rtmbs.simulation.refined import refined as refined
    from rtmbs.state import State as State
    from rtmbs.studies.analysis.campbell import campbell as campbell
    from rtmbs.studies.analysis.equilibrium import Equilibrium as Equilibrium
    from rtmbs.studies.analysis.equilibrium import equilibria as equilibria
    from rtmbs.studies.analysis.equilibrium import equilibrium as equilibrium
    from rtmbs.studies.analysis.equilibrium import preload as preload
    from rtmbs.studies.analysis.inverse_dynamics import InverseDynamics as InverseDynamics
    from rtmbs.studies.analysis.inverse_dynamics import driving_forces as driving_forces
    from rtmbs.studies.analysis.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from rtmbs.studies.analysis.linearisation import control_system as control_system
    from rtmbs.studies.analysis.linearisation import linearise as linearise
    from rtmbs.studies.analysis.linearisation import linearise_rolling as linearise_rolling
    from rtmbs.studies.analysis.modes import modes as modes
    from rtmbs.studies.analysis.workload import Workload as Workload
    from rtmbs.studies.analysis.workload import workload as workload
    from rtmbs.studies.sensitivities.differentiable import differentiable as differentiable
    from rtmbs.studies.sensitivities.sensitivity import Sensitivity as Sensitivity
    from rtmbs.studies.sensitivities.sensitivity import sensitivity as sensitivity
    from rtmbs.studies.sweeps.designs import Grid as Grid
    from rtmbs.studies.sweeps.designs import LatinHypercube as LatinHypercube
    from rtmbs.studies.sweeps.designs import LogUniform as LogUniform
    from rtmbs.studies.sweeps.designs import MonteCarlo as MonteCarlo
    from rtmbs.studies.sweeps.designs import Normal as Normal
    from rtmbs.studies.sweeps.designs import Uniform as Uniform
    from rtmbs.studies.sweeps.engines import Dask as Dask
    from rtmbs.studies.sweeps.engines import Processes as Processes
    from rtmbs.studies.sweeps.engines import Serial as Serial
    from rtmbs.studies.sweeps.result import SweepResult as SweepResult
    from rtmbs.studies.sweeps.sweep import sweep as sweep
    from rtmbs.viewer.notebook import show as show
    from rtmbs.viewer.view import view as view


def __getattr__(name: str) -> Any:
    if name in ROOMS:
        return importlib.import_module(f"rtmbs.{name}")
    if name not in HOMES:
        raise AttributeError(f"module 'rtmbs' has no attribute '{name}'", name=name, obj=None)
    from rtmbs.core.names import checked

    home = importlib.import_module(HOMES[name])
    value = checked(getattr(home, name))
    setattr(home, name, value)
    globals()[name] = value  # found once, then an ordinary attribute
    return value


def __dir__() -> list[str]:
    return __all__
