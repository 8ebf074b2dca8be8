"""History that the variational midpoint step carries on: the momentum behind a step, and increments to extrapolate.

The momentum is that before the loops act at the end of the step. The next step begins with it, so its path does not
depend on the rates there, and rates and accelerations are found only where they are asked for (METHODS 6.6). Increments
of the last steps give the first increment of the next one, the first rates and the first accelerations.

``State.memory["momentum"]`` holds all of it, with the state that it belongs to. A state that was changed in between has
no history: its momentum is M zd.
"""

from rtmbs.integrators.settings import HISTORY_ROWS
from rtmbs.jit.compiled import inner_kernel

# Rows of the history. Each has a number a coordinate, a multiplier, or a state of a law; the last three have a row of
# every rotation. The last column holds the step [s].
MOMENTUM, GUESS, BEFORE, CHANGE, CURVE, PUSH, PLACE, RATE, ACCELERATION, STATES, TURNED = range(11)


@inner_kernel
def continues(h, state):
    """True when the history of a state is that of the step of ``h`` which ended there, and nothing has changed."""
    history = state.energy
    same = len(history) == HISTORY_ROWS and history[0, history.shape[1] - 1] == h
    if not same:
        return False
    different = 0
    for i in range(len(state.z)):
        different += history[PLACE, i] != state.z[i]
        different += history[RATE, i] != state.zd[i]
        different += history[ACCELERATION, i] != state.zdd[i]
    for i in range(len(state.s)):
        different += history[STATES, i] != state.s[i]
    for k in range(len(state.R0)):
        for i in range(3):
            for j in range(3):
                different += history[TURNED + i, 3 * k + j] != state.R0[k, i, j]
    return different == 0


@inner_kernel
def begin_history(h, old, own):
    """Increments of constant accelerations before ``old``, and the first ones of the next step."""
    for i in range(len(own.y)):
        own.guess[i] = 0.5 * h * old.zd[i] + 0.25 * h * h * old.zdd[i]
        own.before[i] = 0.5 * h * old.zd[i] - 0.25 * h * h * old.zdd[i]
        own.change[i], own.curve[i] = 0.5 * h * h * old.zdd[i], 0.0
    for row in range(len(own.push)):
        own.push[row] = 0.25 * h * h * old.lam[row]


@inner_kernel
def take_history(old, own):
    """Go on with the history of a state."""
    history = old.energy
    for i in range(len(own.y)):
        own.p0[i], own.guess[i], own.before[i] = history[MOMENTUM, i], history[GUESS, i], history[BEFORE, i]
        own.change[i], own.curve[i] = history[CHANGE, i], history[CURVE, i]
    for row in range(len(own.push)):
        own.push[row] = history[PUSH, row]


@inner_kernel
def extend_history(first, typical, own):
    """Add the step with the half increment own.y and the impulse own.impulse; ``first``: a history begins with it.

    The impulse of the first step is that of one end, L_0. Those of later steps are sums of the impulses L_1 and L_0 on
    both sides of a boundary. The next increment is extrapolated by a line or by a parabola: by what would have been
    nearer to this one.
    """
    line, parabola = 0.0, 0.0
    for i in range(len(own.y)):
        own.p0[i] = own.p1[i]
        change = own.y[i] - own.before[i]
        curve = change - own.change[i]
        line, parabola = max(line, abs(curve) / typical[i]), max(parabola, abs(curve - own.curve[i]) / typical[i])
        own.curve[i], own.change[i], own.before[i] = curve, change, own.y[i]
    share = 1.0 if parabola < line else 0.0
    for i in range(len(own.y)):
        own.guess[i] = own.y[i] + own.change[i] + share * own.curve[i]
    for row in range(len(own.push)):
        whole = 2.0 * own.impulse[row] if first else own.impulse[row]
        own.push[row] = whole


@inner_kernel
def first_rates(h, new, own):
    """Rates and accelerations where a step ends, by the cubic through the last positions: first values only."""
    for i in range(len(own.y)):
        new.zd[i] = 2.0 / h * (own.before[i] + 0.5 * own.change[i] + own.curve[i] / 3.0)
        new.zdd[i] = 2.0 / (h * h) * (own.change[i] + own.curve[i])


@inner_kernel
def keep_history(h, own, new):
    """Write the history to a state that is complete."""
    history = new.energy
    if len(history) != HISTORY_ROWS:
        return
    history[0, history.shape[1] - 1] = h
    for i in range(len(own.y)):
        history[MOMENTUM, i], history[GUESS, i], history[BEFORE, i] = own.p0[i], own.guess[i], own.before[i]
        history[CHANGE, i], history[CURVE, i] = own.change[i], own.curve[i]
        history[PLACE, i], history[RATE, i], history[ACCELERATION, i] = new.z[i], new.zd[i], new.zdd[i]
    for row in range(len(own.push)):
        history[PUSH, row] = own.push[row]
    for i in range(len(new.s)):
        history[STATES, i] = new.s[i]
    for k in range(len(new.R0)):
        for i in range(3):
            for j in range(3):
                history[TURNED + i, 3 * k + j] = new.R0[k, i, j]
