"""Watching a simulation without touching it: a recorder and meters, each with a schedule."""

from rtmbs.observers.channel_recorder import ChannelRecorder
from rtmbs.observers.meters import EnergyMeter, IterationMeter, StepTimeMeter, ViolationMeter
from rtmbs.observers.observer import At, AtRate, Every, EveryStep, Observer, Schedule, Watched
from rtmbs.observers.recorder import Recorder
from rtmbs.results.result import load_result

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
