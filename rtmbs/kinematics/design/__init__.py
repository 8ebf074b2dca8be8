"""Design of linkages: four-bars and slider-cranks in closed form, synthesis, tolerances, assemblies.

No model is compiled and no motion is run. Angles are in radians, lengths in metres.
"""

from rtmbs.core.names import publish
from rtmbs.kinematics.analysis import Assembly, assemblies
from rtmbs.kinematics.design.batch import FourBars, Tolerances, four_bars, tolerances
from rtmbs.kinematics.design.four_bar import DeadCentre, FourBar, FourBarMotion, plot_path
from rtmbs.kinematics.design.slider_crank import SliderCrank, SliderCrankMotion
from rtmbs.kinematics.design.synthesis import (
    Defects,
    Synthesis,
    defects,
    function_generator,
    motion_generator,
    path_generator,
)

__all__ = [
    "Assembly",
    "DeadCentre",
    "Defects",
    "FourBar",
    "FourBarMotion",
    "FourBars",
    "SliderCrank",
    "SliderCrankMotion",
    "Synthesis",
    "Tolerances",
    "assemblies",
    "defects",
    "four_bars",
    "function_generator",
    "motion_generator",
    "path_generator",
    "plot_path",
    "tolerances",
]

publish(globals(), __all__)
