"""IFToMM benchmark A02: the N-four-bar mechanism, one row of N windows that passes through singular poses."""

from rtmbs.library.shapes import add_bar
from rtmbs.model import Model, Revolute

Z = (0.0, 0.0, 1.0)


def windows(n: int = 2, rate: float = -1.0) -> Model:
    """Return N square windows made of 2 N + 1 identical links.

    Links of 1 m and 1 kg, uniform (1/12 kg m^2). Pivots at (i, 0), i = 0 .. N; posts upright; couplers at y = 1;
    gravity 9.81 m/s^2 along -Y. ``rate`` of all posts [rad/s] about Z: -1 gives v(B0) = (1, 0) m/s.
    Whenever the posts are horizontal the mobility jumps from 1 to N + 1; the parallelogram branch must be kept.

    Names: ``post_i``, ``coupler_j``; joints ``pivot_i``, ``hinge_j``, ``cut_j``; marker ``B0`` at the end of post_0.
    Coordinates are angles from the upright pose.
    """
    model = Model(f"windows {n}", gravity=(0.0, -9.81, 0.0))
    for i in range(n + 1):
        post = add_bar(model, f"post_{i}", (i, 0.0, 0.0), (i, 1.0, 0.0))
        model.add_joint(f"pivot_{i}", Revolute(axis=Z), model.ground, post, point=(i, 0.0, 0.0))
        model.set_initial(f"pivot_{i}", position=0.0, rate=rate, pin=i == 0)

    previous = "post_0"
    for j in range(n):
        coupler = add_bar(model, f"coupler_{j}", (j, 1.0, 0.0), (j + 1, 1.0, 0.0))
        model.add_joint(f"hinge_{j}", Revolute(axis=Z), previous, coupler, point=(j, 1.0, 0.0))
        model.add_joint(f"cut_{j}", Revolute(axis=Z), coupler, f"post_{j + 1}", point=(j + 1, 1.0, 0.0), cut=True)
        model.set_initial(f"hinge_{j}", position=0.0, rate=-rate if j == 0 else 0.0, pin=False)
        previous = coupler.name
    model.add_marker("B0", "post_0", point=(0.0, 1.0, 0.0))
    return model
