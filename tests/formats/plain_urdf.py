"""Mass matrix, gravity forces and poses of a URDF tree in plain NumPy, straight from its XML; independent of rtmbs.

M = sum over links of J^T diag(m, I) J with geometric Jacobians at the mass centres.
"""

import xml.etree.ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation


def numbers(element, key, default):
    return np.array([float(word) for word in element.get(key, default).split()])


def frame_of(element):
    T, origin = np.eye(4), None if element is None else element.find("origin")
    if origin is not None:
        T[:3, 3] = numbers(origin, "xyz", "0 0 0")
        T[:3, :3] = Rotation.from_euler("xyz", numbers(origin, "rpy", "0 0 0")).as_matrix()
    return T


class PlainURDF:
    """A tree of revolute, prismatic and fixed joints with its root on the ground."""

    def __init__(self, file):
        self.root = ET.parse(file).getroot()
        self.links = {one.get("name"): one for one in self.root.findall("link")}
        self.joints = {one.get("name"): one for one in self.root.findall("joint")}
        self.above = {one.find("child").get("link"): one for one in self.joints.values()}
        self.moving = [name for name, one in self.joints.items() if one.get("type") != "fixed"]

    def chain(self, link):
        """Yield the joints from the ground to a link."""
        found = []
        while link in self.above:
            found.append(self.above[link])
            link = self.above[link].find("parent").get("link")
        return found[::-1]

    def pose(self, link, q):
        """Return the pose (4, 4) of a link, and its Jacobian (6, n) of [v, omega] at the link's origin, world axes."""
        T, columns = np.eye(4), []
        for joint in self.chain(link):
            T = T @ frame_of(joint)
            kind, name = joint.get("type"), joint.get("name")
            if kind == "fixed":
                continue
            axis = numbers(joint.find("axis"), "xyz", "1 0 0")
            axis /= np.linalg.norm(axis)
            columns.append((name, kind, T[:3, :3] @ axis, T[:3, 3].copy()))
            move = np.eye(4)
            if kind == "prismatic":
                move[:3, 3] = q[name] * axis
            else:
                move[:3, :3] = Rotation.from_rotvec(q[name] * axis).as_matrix()
            T = T @ move
        J = np.zeros((6, len(self.moving)))
        for name, kind, u, p in columns:
            k = self.moving.index(name)
            J[:3, k] = u if kind == "prismatic" else np.cross(u, T[:3, 3] - p)
            J[3:, k] = 0.0 if kind == "prismatic" else u
        return T, J

    def mass_and_gravity(self, q, g=(0.0, 0.0, -9.81)):
        """Return M (n, n) and the generalised forces that hold the weight (n,)."""
        n = len(self.moving)
        M, weight = np.zeros((n, n)), np.zeros(n)
        for name, link in self.links.items():
            inertial = link.find("inertial")
            if inertial is None:
                continue
            T, J = self.pose(name, q)
            G = T @ frame_of(inertial)
            arm = G[:3, 3] - T[:3, 3]
            V = J[:3] - np.cross(arm, J[3:].T).T
            one = inertial.find("inertia")
            xx, xy, xz, yy, yz, zz = (float(one.get(key)) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
            about = G[:3, :3] @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ G[:3, :3].T
            mass = float(inertial.find("mass").get("value"))
            M += mass * V.T @ V + J[3:].T @ about @ J[3:]
            weight -= mass * V.T @ np.array(g)
        return M, weight
