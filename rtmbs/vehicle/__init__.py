"""Vehicles: tyres, suspensions and whole cars as ordinary Models, in ISO 8855 axes.

Names are resolved on first use.
"""

import lazy_loader

from rtmbs.core.names import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            "axle": [
                "AntiRollBar",
                "Axle",
                "Connection",
                "Damper",
                "Part",
                "Spring",
                "Stops",
                "Strut",
                "TwistSpring",
                "ball",
                "hinge",
                "part",
                "rod",
            ],
            "bicycle": ["BicycleData", "bicycle"],
            "car": ["Car", "CarData"],
            "data_file": ["read"],
            "driven_car": ["DrivenCar"],
            "driveline": ["Differential", "Driveline", "add_brake", "add_differentials", "add_drive"],
            "driver": [
                "Arms",
                "CarMotion",
                "HeldSteering",
                "Path",
                "PathFollower",
                "PedalDriver",
                "PedalTable",
                "Pedals",
                "SpeedController",
                "SteeringDriver",
                "TwoWheelModel",
            ],
            "hard_point_fit": ["HardPointFit", "fit_hard_points"],
            "magic_formula": ["MagicFormula"],
            "manoeuvres.braking": ["Braking", "BrakingInTurn", "CoastDown", "SplitBraking"],
            "manoeuvres.closed_loop": ["DoubleLaneChange", "SteadyCircle", "ThrottleRelease"],
            "manoeuvres.power": ["PowerBalance", "power_balance"],
            "manoeuvres.report": ["Metric", "Plot", "Report"],
            "manoeuvres.ride": ["Cleat", "FourPost", "Hump", "PostResponse", "post_response"],
            "manoeuvres.steer_inputs": [
                "FrequencyResponse",
                "Response",
                "SineSteer",
                "SineSweep",
                "SineWithDwell",
                "StepSteer",
                "linear_response",
            ],
            "rest": ["Rest"],
            "rig": ["RigComparison", "RigCurves", "WheelCurves", "compare_on_rig", "rig", "rig_report"],
            "roads": [
                "GridRoad",
                "ObstacleRoad",
                "OpenCrgRoad",
                "PlaneRoad",
                "ProfileRoad",
                "Road",
                "RoadUnderWheels",
                "TandemCams",
                "bump",
                "cleat",
                "hump",
                "iso_8608",
                "plateau",
                "split_friction",
            ],
            "steering": ["PitmanArm", "RackAndPinion", "Ramp"],
            "suspensions": ["DoubleWishbone", "FiveLink", "MacPherson", "SolidAxle", "TwistBeam"],
            "trailer": ["Trailer"],
            "tyre": ["BrushTyre", "FialaTyre", "TMeasy", "Tyre", "TyreForces", "TyreInput"],
            "tyre_force": ["TyreLaw", "add_tyre"],
        },
    ),
)
