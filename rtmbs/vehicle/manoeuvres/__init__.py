"""Manoeuvres of standards with their metrics and reports."""
