"""The rotation group SO(3): exponential, logarithm, right Jacobian and its inverse, quaternions.

A rotation vector d stands for the rotation exp(d~), theta = |d|. With R = R0 exp(d~) the angular velocity in body axes
is w = T(d) d', T the right Jacobian. In axes before the turn it is T(d)^T d'.

    exp(d~) = 1 + s d~ + c d~^2          s = sin(theta) / theta, c = (1 - cos(theta)) / theta^2
    T(d)    = 1 - c d~ + e d~^2          e = (theta - sin(theta)) / theta^3
    T^-1(d) = 1 + d~ / 2 + b d~^2        b = (1 - theta/2 cot(theta/2)) / theta^2

Each formula has a compiled form on tuples (``kernels``) and a form in plain arrays: in any namespace (``plain``), and
in NumPy for many rotations at a time (``vectors``). A test holds the forms together and against SciPy. ``plain`` has
the coefficients of all of them. Quaternions are (w, x, y, z).
"""
