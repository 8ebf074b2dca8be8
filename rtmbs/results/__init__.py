"""Results of runs and analyses: channels by name, each with axes and unit, their files, tables and comparison."""

from rtmbs.results.channel import Channel
from rtmbs.results.compare import Comparison, compare
from rtmbs.results.result import Result, load_result

__all__ = ["Channel", "Comparison", "Result", "compare", "load_result"]
