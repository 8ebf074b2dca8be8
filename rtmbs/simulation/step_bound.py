"""How many steps a run with a tolerance may try: one that would never end says so early."""

from rtmbs.errors import InputError

LEAST, MOST = 0.01, 0.25  # of what a run may try: so long an expectation that is too large has to last


class StepBound:
    """Counts the tries of a run to ``t_end`` [s], at most ``most``."""

    def __init__(self, most: int, tolerance: float, t_end: float) -> None:
        self.most, self.tolerance, self.t_end = most, tolerance, t_end
        self.within = 0  # tries when the expected number was last within the bound

    def check(self, tried: int, t: float, h: float, why: str) -> None:
        """Refuse to go on after ``tried`` steps, at ``t`` [s] with the next step ``h`` [s]: InputError, with ``why``.

        A stretch of small steps passes: the number expected at the present step has to stay too large for a while, a
        quarter of all steps where it is little too large, and a hundredth where it is a hundred times too large.
        """
        expected = tried + (self.t_end - t) / h
        if expected <= self.most:
            self.within = tried
            return
        patience = min(max(self.most / expected, LEAST), MOST)
        if tried >= self.most or tried - self.within > patience * self.most:
            raise InputError(
                f"tolerance = {self.tolerance:g} asks for about {expected:.2g} steps to t_end = {self.t_end:g} s: they "
                f"are {h:.3g} s long at t = {t:g} s because of {why}; most_steps = {self.most} bounds them, so give a "
                "larger tolerance, an earlier t_end or a larger most_steps"
            )
