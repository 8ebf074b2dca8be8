"use strict";
// The view cube of a page: as scene/camera.py says. A click on a face looks along it.

const CUBE_TOP = 46; // pixels that the buttons take above it

class ViewCube {
  constructor(given) {
    this.given = given;
  }

  // The middle in pixels; null where there is no room.
  middle(width, height) {
    const { reach, inset, least } = this.given;
    return Math.min(width, height) < least ? null : [width - inset - reach, CUBE_TOP + inset + reach];
  }

  // Pixels that it takes from the right and from above, and where these meet, from -1 to 1; null without it.
  room(width, height) {
    const middle = this.middle(width, height), { reach, inset } = this.given;
    if (!middle) return null;
    const [wide, high] = [inset + 2 * reach, middle[1] + reach];
    return { wide, high, x: 1 - (2 * wide) / width, y: 1 - (2 * high) / height };
  }

  // The faces that a camera sees, with their corners in pixels from the middle.
  faces(camera) {
    const [right, up, back] = [0, 1, 2].map((column) => new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, column));
    return this.given.faces.flatMap(([label, normal], number) => {
      const axis = number % 3, n = new THREE.Vector3(...normal), seen = n.dot(back);
      if (seen <= 1e-9) return [];
      const corners = [[-1, -1], [1, -1], [1, 1], [-1, 1]].map(([a, b]) => {
        const corner = n.clone().setComponent((axis + 1) % 3, a).setComponent((axis + 2) % 3, b).multiplyScalar(this.given.half);
        return [corner.dot(right), -corner.dot(up)];
      });
      return [{ label, axis, n, seen, corners }];
    });
  }

  draw(pen, stage, width, height, colors, axisColors) {
    const middle = this.middle(width, height);
    if (!middle) return;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const { label, axis, corners, seen } of this.faces(stage.camera)) {
      pen.beginPath();
      corners.forEach(([x, y], k) => pen[k ? "lineTo" : "moveTo"](middle[0] + x, middle[1] + y));
      pen.closePath();
      pen.globalAlpha = 0.85;
      pen.fillStyle = colors.field;
      pen.fill();
      pen.globalAlpha = 1;
      pen.strokeStyle = colors.border;
      pen.lineWidth = 1;
      pen.stroke();
      if (seen < this.given.edge_on) continue;
      const at = [0, 1].map((k) => corners.reduce((sum, corner) => sum + corner[k], 0) / 4);
      pen.fillStyle = axisColors[axis];
      pen.fillText(label, middle[0] + at[0], middle[1] + at[1] + 4);
    }
  }

  // The direction of the face at a pixel, null beside the cube.
  at(stage, x, y) {
    const middle = this.middle(stage.canvas.clientWidth, stage.canvas.clientHeight);
    if (!middle) return null;
    const [a, b] = [x - middle[0], y - middle[1]];
    return this.faces(stage.camera).find(({ corners }) => {
      const turns = corners.map(([u, v], k) => {
        const [p, q] = corners[(k + 1) % 4];
        return (p - u) * (b - v) - (q - v) * (a - u);
      });
      return turns.every((turn) => turn >= 0) || turns.every((turn) => turn <= 0);
    })?.n ?? null;
  }
}
