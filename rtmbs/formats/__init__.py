"""Robots and mechanisms in files: readers of URDF, SDF and MJCF, and writers.

``read.py`` chooses the reader by ending and content. Each reader lists links and joints in ``assembly.ModelAssembly``,
which places the bodies and makes the Model. An element that a Model cannot have is noted in ``Model.import_report``.
"""
