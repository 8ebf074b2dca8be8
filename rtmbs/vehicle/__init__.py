"""Vehicles: tyres, suspensions and whole cars as ordinary Models, in ISO 8855 axes.

Names are resolved on first use.
"""

import lazy_loader

from rtmbs.core.keywords import lazily

__getattr__, __dir__, __all__ = lazily(
    __name__,
    lazy_loader.attach(
        __name__,
        submod_attrs={
            "anti_roll_bar": ["AntiRollBar"],
            "axle": ["Axle", "Connection", "Part", "Strut", "ball", "hinge", "part", "rod"],
            "bicycle": ["BicycleData", "bicycle"],
            "car": ["Car", "read"],
            "brush": ["BrushTyre"],
            "data_file": ["CarData"],
            "differentials": ["Differential", "add_differentials"],
            "fiala": ["FialaTyre"],
            "magic_formula": ["MagicFormula"],
            "driving.driven_car": ["DrivenCar"],
            "driving.driveline": ["Driveline"],
            "driving.driver": [
                "Arms",
                "CarMotion",
                "HeldSteering",
                "PathFollower",
                "PedalTable",
                "Pedals",
                "SpeedController",
            ],
            "driving.path": ["Path"],
            "driving.two_wheel": ["TwoWheelModel"],
            "manoeuvres.braking": ["Braking"],
            "manoeuvres.braking_stability": ["BrakingInTurn", "SplitBraking"],
            "manoeuvres.circle": ["SteadyCircle", "ThrottleRelease"],
            "manoeuvres.coast_down": ["CoastDown"],
            "manoeuvres.four_post": ["FourPost", "PostResponse", "post_response"],
            "manoeuvres.frequency_response": ["FrequencyResponse", "Response", "SineSweep", "linear_response"],
            "manoeuvres.lane_change": ["DoubleLaneChange"],
            "manoeuvres.obstacles": ["Cleat", "Hump"],
            "manoeuvres.power": ["PowerBalance", "power_balance"],
            "manoeuvres.report": ["Metric", "Plot", "Report"],
            "manoeuvres.sine": ["SineSteer", "SineWithDwell"],
            "manoeuvres.step_steer": ["StepSteer"],
            "rest": ["Rest"],
            "rig": ["rig"],
            "rig_curves": ["RigCurves", "WheelCurves"],
            "rig_report": ["RigComparison", "compare_on_rig", "rig_report"],
            "steering": ["PitmanArm", "RackAndPinion", "Ramp"],
            "struts": ["Damper", "Spring", "Stops"],
            "roads.open_crg": ["OpenCrgRoad"],
            "roads.surfaces": [
                "GridRoad",
                "ObstacleRoad",
                "PlaneRoad",
                "ProfileRoad",
                "Road",
                "bump",
                "cleat",
                "hump",
                "iso_8608",
                "plateau",
                "split_friction",
            ],
            "roads.under_wheels": ["RoadUnderWheels", "TandemCams"],
            "suspensions": ["DoubleWishbone", "FiveLink", "MacPherson"],
            "tmeasy": ["TMeasy"],
            "trailer": ["Trailer"],
            "tyre_force": ["TyreLaw", "add_tyre"],
            "tyre": ["Tyre", "TyreForces", "TyreInput"],
            "wheel_torques": ["add_brake", "add_drive"],
        },
    ),
)
