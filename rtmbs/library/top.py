"""A heavy asymmetric top on a spherical joint that turns through every orientation."""

from rtmbs.model import Model, Spherical

MASS = 1.0  # [kg]
CENTER = (0.05, -0.1, 0.4)  # of mass, body axes from the pivot [m]
INERTIA = (0.20, 0.35, 0.45)  # about the mass centre, body axes [kg m^2]
RATE = (3.0, 5.0, -4.0)  # at the start, body axes [rad/s]


def top() -> Model:
    """Return the top: three different moments of inertia, gravity 9.81 m/s^2 along -Z, pivot at the origin.

    The body axes are those of the world at the start; the rates about all three are large enough to carry the body
    through every orientation. All numbers are ours. Names: ``top``, joint ``pivot``, marker ``center``.
    """
    model = Model("heavy asymmetric top", gravity=(0.0, 0.0, -9.81))
    body = model.add_body("top", mass=MASS, center_of_mass=CENTER, inertia=INERTIA)
    model.add_joint("pivot", Spherical(), model.ground, body, point=(0.0, 0.0, 0.0))
    model.set_initial("pivot", position=(1.0, 0.0, 0.0, 0.0), rate=RATE)
    model.add_marker("center", body, point=CENTER)
    return model
