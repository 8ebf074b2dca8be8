"""Helpers of all rooms: bounds of numbers and memory, keywords, names in brackets, tables."""
