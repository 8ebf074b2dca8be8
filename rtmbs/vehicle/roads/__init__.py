"""Roads: heights, slopes and friction over the plane, and the local planes under the wheels of a car."""
