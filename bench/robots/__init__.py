"""Files of robots that packages of PyPI bring: what is read of them, and the numbers against Pinocchio and MuJoCo.

    python -m bench.robots.files    every URDF, SDF and MJCF: read, or refused with a sentence
    python -m bench.robots.trees    mass matrix and bias forces of trees at random states
    python -m bench.robots.rates    processor time of a call of inverse dynamics and mass matrix, beside Pinocchio
    python -m bench.robots.algorithms   all algorithms of a Robot beside Pinocchio, and their times in a batch
    python -m bench.robots.loops    accelerations of closed loops against Pinocchio's constrained dynamics
    python -m bench.robots.extended     accelerations in extended precision: which of the two programs is off
    python -m bench.robots.energy   energy of free motions with loops at h, h / 2 and h / 4

Packages: example-robot-data, rtb-data, pybullet, gymnasium, gymnasium-robotics, dm-control, mujoco, pin.
"""
