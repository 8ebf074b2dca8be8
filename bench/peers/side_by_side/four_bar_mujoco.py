"""The same four-bar in MuJoCo: a tree of joint coordinates, and a soft constraint that closes the loop."""

import mujoco

MODEL = """
<mujoco>
  <compiler angle="radian"/>
  <option timestep="1e-4" gravity="0 -9.81 0" integrator="implicitfast"/>
  <worldbody>
    <body name="crank">
      <joint name="a" axis="0 0 1"/>
      <inertial mass="1" pos="0.05 0.2 0" diaginertia="0.0141667 0.0141667 0.0141667"/>
      <body name="coupler" pos="0.1 0.4 0">
        <joint name="b" axis="0 0 1"/>
        <inertial mass="1" pos="0.45 0.25 0" diaginertia="0.0883333 0.0883333 0.0883333"/>
        <site name="end" pos="0.9 0.5 0"/>
      </body>
    </body>
    <body name="rocker" pos="1.2 0 0">
      <joint name="d" axis="0 0 1"/>
      <inertial mass="1" pos="-0.1 0.45 0" diaginertia="0.0708333 0.0708333 0.0708333"/>
      <site name="pin" pos="-0.2 0.9 0"/>
    </body>
  </worldbody>
  <equality><connect site1="end" site2="pin" solref="2e-4 1" solimp="0.9999 0.9999 0.001"/></equality>
</mujoco>
"""

model = mujoco.MjModel.from_xml_string(MODEL)
data = mujoco.MjData(model)
while data.time < 1.0 - 1e-9:
    mujoco.mj_step(model, data)
mujoco.mj_kinematics(model, data)
print(data.site("pin").xpos)
