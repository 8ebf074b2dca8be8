"""Model files that tests read: the paper's slider-crank, and one that uses every statement."""

from pathlib import Path

SLIDER_CRANK = (Path(__file__).parent / "slider_crank.mks").read_text(encoding="utf-8")

RICH = """
# a machine with one of everything
MODEL "rich machine";
constant L = 0.5 m;
constant w = 30 rpm / 2;
SYSTEM (DYNAMIC ANALYSIS, ending time = 0.2, print interval = 10 ms, step = 5 ms, gravity = (0, 0, -9.81 m/s^2));
BODY base (ground, pqr = [(0, 0, 1), (0, 0, 2), (1, 0, 1)]);  // one metre above the world
BODY crank (mass = 2 kg, center of gravity = (L / 2, 0, 1), pqr = [(0, 0, 1), (0, 1, 1), (1, 0, 1)],
            inertia = (1e4 g*cm^2, 0.02, 0.02));
BODY "second arm" (mass = 1,
                   inertia = (0.01, 0.02, 0.02, 1e-4, 0, 0), position = (L, 0, 1), center of mass = (0.1, 0, 0));
BODY sled (mass = 500 g, inertia = [(0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)], position = (0, 2, 0),
           orientation = (0, 0, 0, 1));
BODY bird (mass = 1, inertia = (1, 1, 1), position = (5, 5, 5));
BODY flag (mass = 0.1, inertia = (1, 1, 1) , position = (5, 5, 6));
BODY disc (mass = 0.3, inertia = (1, 1, 1) , position = (-5, 0, 0));
BODY cross (mass = 0.3, inertia = (1, 1, 1) , position = (-7, 0, 0));
triad hinge0 (associated body = base, origin = (0, 0, 0), pqr = [(0, 0, 0), (0, 1, 0), (1, 0, 0)]);
triad hinge1 (associated body = crank, axes = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]);
triad elbow0 (body = crank, origin = (L, 0, 0));
triad elbow1 (body = "second arm", origin = (0, 0, 0), pqr = [(0, 0, 0), (0, 1, 0), (1, 0, 0)]);
triad eye (body = ground, origin = (0, 2, 5));
triad hook (body = sled, origin = (0, 0, 0.3));
triad lug (body = flag, origin = (0.1, 0, 0));
triad cone0 (body = ground, origin = (-7, 0, 0));
triad cone1 (body = cross, pqr = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]);
revolute joint hinge (triad = hinge0, triad = hinge1);
cylindrical joint elbow (triad = elbow0, triad = elbow1);
prismatic joint slide (body = ground, body = sled, axis = (1, 0, 0), point a = (0, 2, 0), point b = (0, 0, 0));
floating joint fly (body = ground, body = bird, frame = sled);
fixed joint weld (body = bird, body = flag, point a = (0, 0, 1), point b = (0, 0, 0));
planar joint table (body = ground, body = disc, normal = (0, 0, 1), point a = (-5, 0, 0), point b = (0, 0, 0),
                    cut = no);
universal joint cone (triad = cone0, triad = cone1);
spring coil (triad = eye, triad = hook, stiffness = 3 N/mm, damping = 2, length = 4);
damper dash (triad = eye, triad = lug, damping = 2 N/m);
torsion spring back (joint = hinge, stiffness = 5, angle = 10 deg);
motor drive (joint = elbow.angle, torque = 0.1 * sin(w * TIME) ^ 2);
motor hand (joint = slide, force = input(0.5));
motor steps (joint = elbow.displacement, force = staircase([0, 0.05, 0.1], [1, -2, 0]));
wrench wind (body = bird, point = (0, 0, 0.1), force = (0.1 * TIME, 0, 9.81), torque = (0, 0, 0.01), axes = body);
driver turn (table.angle = smooth step(t0 = 0, t1 = 0.1, start = 0, end = 30 deg));
driver shift (table.x = spline([0, 0.1, 0.2], [0, 1 mm, 0]));
driver sway (cone.angle_a = sine(amplitude = 0.1, frequency_rad_s = 3));
initial hinge (position = 0.1, rate = 20 deg/s);
initial fly (position = (0, 0, 0, 1, 0, 0, 0), rate = (0, 0, 1, 0, 2, 0), pin = no, weight = 3);
ENDMODEL
"""

KINEMATIC = """
MODEL arm
SYSTEM (KINEMATIC ANALYSIS, starting time = 0.5, ending time = 1, print interval = 0.1, method = freeze, pivot = row,
        singular = stop);
BODY b (pqr = [(0, 0, 0), (0, 0, 1), (1, 0, 0)]);
BODY b2 (pqr = [(1, 0, 0), (1, 0, 1), (1, 1, 0)]);
triad o (associated body = ground);
triad p (associated body = b);
triad q (associated body = b, origin = (1, 0, 0));
triad r (associated body = b2);
triad s (associated body = b2, origin = (1, 0, 0));
triad far (associated body = ground, origin = (5, 5, 0));
revolute joint j (triad = o, triad = p);
revolute joint k (triad = q, triad = r);
rod link (triad = s, triad = far);
driver one (b2x = 1 + log(TIME));
driver two (b.yaw = TIME);
driver three (distance(s, o) = sqrt(2) * TIME);
driver four (angle(o.f, r.g) = atan2(TIME, 2));
driver five (k = min(TIME, 1));
ENDMODEL
"""

EVERY = {"slider crank": SLIDER_CRANK, "rich": RICH, "kinematic": KINEMATIC}
