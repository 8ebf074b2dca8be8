"""A ramp for steering and pedals: constant rate between parabolic ends."""

from dataclasses import dataclass

from rtmbs.model.profiles import Motion, Numeric


@dataclass(frozen=True)
class Ramp(Numeric):
    """From ``start`` before t0 to ``end`` after t1 at a constant rate that builds up and ends within ``blend`` [s].

    The ends are parabolas from t0 - blend / 2 to t0 + blend / 2 and likewise at t1, so the rate does not jump.
    """

    t0: float
    t1: float
    start: float
    end: float
    blend: float = 2e-3

    def __call__(self, t: float) -> Motion:
        rate = (self.end - self.start) / (self.t1 - self.t0)
        first, last = self.eased(t - self.t0), self.eased(t - self.t1)
        f, fd, fdd = (rate * (one - two) for one, two in zip(first, last, strict=True))
        return self.start + f, fd, fdd

    def eased(self, t: float) -> Motion:
        """Return max(t, 0) with a parabola in place of its corner."""
        b = self.blend
        if t <= -0.5 * b:
            return 0.0, 0.0, 0.0
        if t >= 0.5 * b:
            return t, 1.0, 0.0
        s = t + 0.5 * b
        return 0.5 * s * s / b, s / b, 1.0 / b
