"""Random convex solids that meet: momentum stays, and energy grows by no more than the method's error.

The claim is that a change of the touching points does no work. What a step may gain is of the order (w h)^2 of the
energy, w that of the lighter solid on the spring of a point, where contact begins or ends within it.
"""

from bench.campaigns.campaign import Campaign, Tally, each
from bench.contact_figures import SHARE, collision

MOMENTUM, GROWTH = 1e-9, SHARE**2  # of the momentum in kg m/s, all masses near 1 kg and 1 m/s; of the energy


def judged(seed: int, tally: Tally) -> str:
    """Let two solids meet and return what is wrong with their momentum and energy."""
    momentum, growth, force = collision(seed)
    tally.largest("change of momentum", momentum)
    tally.largest("growth of energy", growth)
    tally.largest("normal force", force)
    if momentum > MOMENTUM:
        return f"momentum changes by {momentum:.1e} kg m/s"
    return "" if growth < GROWTH else f"energy grows by {growth:.2e} of itself"


CAMPAIGN = Campaign(
    name="convex contacts",
    claim="a change of the touching points of convex solids does no work, and their momentum stays",
    full=500,
    bounded=3,
    run=lambda cases, seed: each(judged, cases, seed),
    needs=("coal",),
)
