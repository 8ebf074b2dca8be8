"""Driver, path, driveline and brakes of a car: what turns a wish into steering and wheel torques."""
