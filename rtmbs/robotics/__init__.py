"""What robotics asks of a mechanism at a state: kinematics of frames, dynamics, inverse kinematics of closed chains."""
