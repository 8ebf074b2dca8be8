"""What a run is read for while it goes by: the channels of a cost, and what tells how channels depend on samples."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rtmbs.observers.channel_recorder import continued
from rtmbs.results.catalogue import run_result
from rtmbs.results.channel import QUATERNION, Kept, Source
from rtmbs.results.result import TIME, Result
from rtmbs.results.samples import OF_STATE, Samples
from rtmbs.sensitivities.checkpoints import Run
from rtmbs.sensitivities.cost import RecordedCost

Array = NDArray[np.float64]
FEW = 8  # samples that tell whether channels depend on something


@dataclass(frozen=True)
class Readings:
    """Of all segments of a run."""

    result: Result
    values: Array  # (S, w) channels of the cost, those of a sample side by side
    turning: NDArray[np.bool_]  # (w,) components of orientations, whose sign goes on from sample to sample
    few: Samples  # some samples of the whole run
    pace: float  # largest rate in typical sizes [1/s]


def read(run: Run, cost: RecordedCost) -> Readings:
    """Take the steps of a run. A run of several segments keeps the channels of the cost alone."""
    sim, parts, few, pace = run.sim, [], [], 0.0
    wanted = np.unique(np.linspace(0, run.steps, FEW).astype(int))
    last: dict[str, Array] = {}
    for first, recorded in run.first():
        samples = recorded.samples
        result = run_result(sim.system, sim.equations.tables, samples, {})
        found = {name: Source(*result.about(name), Kept(result[name]), result.frame(name)) for name in cost.names}
        new = {name: continued(one.values(), one, last.get(name)) for name, one in found.items()}
        last = {name: values[-1] for name, values in new.items()}
        lead = int(first > 0)  # the sample that segments share
        parts.append({name: values[lead:] for name, values in new.items()})
        own = wanted[(wanted >= first + lead) & (wanted < first + len(samples.t))] - first
        few.append(some(samples, own))
        pace = max(pace, float(np.abs(samples.zd / sim.system.typical).max(initial=0.0)))
    values = {name: np.concatenate([part[name] for part in parts]) for name in cost.names}
    if len(parts) > 1:
        kept = {name: Source(one.axes, one.unit, Kept(values[name]), one.frame) for name, one in found.items()}
        result = Result({TIME: Source((), "s", Kept(run.t)), **kept}, sim.system.name, sim.system.fingerprint)
    flat = np.hstack([one.reshape(len(one), -1) for one in values.values()])
    turning = np.repeat([one.axes == QUATERNION for one in found.values()], cost.widths)
    together = (np.concatenate([getattr(one, name) for one in few]) for name in ("t", *OF_STATE))
    return Readings(result, flat, turning, Samples(*together), pace)


def some(samples: Samples, which: NDArray[np.int64] | slice) -> Samples:
    """Return some samples of many."""
    return Samples(**{name: getattr(samples, name)[which] for name in ("t", *OF_STATE)})
