"""The equations of motion in joint coordinates."""
