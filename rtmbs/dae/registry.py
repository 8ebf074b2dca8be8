"""Methods by name: one line each. A line and its file are all that a method has."""

from rtmbs.dae.contract import Method
from rtmbs.formulations.register import Register

PLACES = {  # name: (module, class)
    "runge-kutta": ("runge_kutta", "RungeKutta"),
    "adams-bashforth-moulton": ("adams_bashforth_moulton", "AdamsBashforthMoulton"),
    "solve-ivp": ("solve_ivp", "SolveIVP"),
    "tangent-space": ("tangent_space", "TangentSpace"),
    "odae": ("odae", "ODAE"),
    "penalty-trapezoidal": ("penalty_trapezoidal", "PenaltyTrapezoidal"),
    "index-3-lagrangian": ("index3_lagrangian", "Index3Lagrangian"),
    "generalised-alpha": ("generalised_alpha", "GeneralisedAlpha"),
    "hht": ("hht", "HHT"),
    "half-explicit": ("half_explicit", "HalfExplicit"),
    "radau-ggl": ("radau_ggl", "RadauGGL"),
    "cvode": ("cvode", "CVODE"),
    "ida": ("ida", "IDA"),
}

METHODS: Register[Method] = Register("method", "rtmbs.dae", PLACES)
