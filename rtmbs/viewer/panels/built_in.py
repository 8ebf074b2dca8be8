"""The plots that need no channel: energy balance and loop violation."""

from rtmbs.viewer.description import SceneDescription

ENERGY, VIOLATION = "Energy balance", "Loop violation"
ENERGY_CURVES = ("kinetic", "gravity", "elastic", "total, change")
VIOLATION_CURVES = ("position [m]", "velocity [m/s]", "acceleration [m/s\N{SUPERSCRIPT TWO}]")
LEAST_VIOLATION = 1e-18  # what a logarithmic axis shows of a zero


def built_in_plots(description: SceneDescription) -> tuple[str, ...]:
    """Return the plots that need no channel; a mechanism without loops has nothing to violate but rounding."""
    if not description.live:
        return ()
    return (ENERGY, VIOLATION) if description.equations else (ENERGY,)
