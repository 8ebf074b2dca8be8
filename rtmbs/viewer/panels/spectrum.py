"""The spectrum of a curve: which frequencies it holds, in its own unit."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

LEAST = 8  # samples of which a spectrum says something
EVEN = 1e-6  # of a step, that steps of one length may differ by


def spectrum(t: Array, y: Array) -> tuple[Array, Array]:
    """Return frequencies [Hz] and amplitudes of (t, y) (k,) without its mean; empty for fewer than LEAST samples.

    A sine of amplitude a over whole periods shows a at its frequency. The window of Hann keeps neighbours apart; steps
    of several lengths are brought to their mean by lines between samples.
    """
    known = np.isfinite(y)
    t, y = t[known], y[known]
    if len(t) < LEAST:
        return np.zeros(0), np.zeros(0)
    step = float(t[-1] - t[0]) / (len(t) - 1)
    if np.ptp(np.diff(t)) > EVEN * step:
        even = t[0] + step * np.arange(len(t))
        t, y = even, np.interp(even, t, y)
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(len(y)) / len(y))
    mean = window @ y / window.sum()  # as the window sees it: the plain one would leave a part in the first line
    amplitudes = 2.0 * np.abs(np.fft.rfft((y - mean) * window)) / window.sum()
    return np.asarray(np.fft.rfftfreq(len(y), step)[1:]), np.asarray(amplitudes[1:])
