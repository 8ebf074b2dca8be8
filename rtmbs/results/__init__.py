"""What a run left behind: channels by name, each with axes and unit, and their file."""

from rtmbs.results.channel import Channel
from rtmbs.results.compare import compare
from rtmbs.results.comparison import Comparison
from rtmbs.results.forms import load_result
from rtmbs.results.result import Result

__all__ = ["Channel", "Comparison", "Result", "compare", "load_result"]
