"""Observers of a run, which change nothing: recorders and meters, each with a schedule."""

from rtmbs.results.result import load_result
from rtmbs.simulation.observers.observer import (
    At,
    AtRate,
    EnergyMeter,
    Every,
    EveryStep,
    IterationMeter,
    Observer,
    Schedule,
    StepTimeMeter,
    ViolationMeter,
    Watched,
)
from rtmbs.simulation.observers.recorder import ChannelRecorder, Recorder

__all__ = [
    "At",
    "AtRate",
    "ChannelRecorder",
    "EnergyMeter",
    "Every",
    "EveryStep",
    "IterationMeter",
    "Observer",
    "Recorder",
    "Schedule",
    "StepTimeMeter",
    "ViolationMeter",
    "Watched",
    "load_result",
]
