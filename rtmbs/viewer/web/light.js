"use strict";
// Light of the picture. Without a graphics card, that of many solids is worked out at their corners, and not at pixels.

const SKY = 0.56, LIGHTS = [[0.42, [0.36, 0.62, 0.7]], [0.14, [-0.7, -0.1, 0.7]]]; // from all around; in axes of the eye
const STILL_AFTER = 250; // [ms] without a change, after which a rough picture is drawn once more with smooth edges
const FINER = 2; // times as many pixels, each way, in such a picture

const MANY_CORNERS = 3000; // of a mesh, from which its copies are not written out
const THIN = 3; // pixels of a radius up to which a round part that moves has few sides: they are off by half a pixel

const CORNER_COLOR = `uniform mat4 seen;
in vec3 position;
in vec4 color;
out vec3 base;
void main() {
  gl_Position = seen * vec4(position, 1.0);
  base = color.rgb;
}`;
const PLAIN_COLOR = `in vec3 base;
out vec4 shade;
void main() { shade = vec4(base, 1.0); }`;

// Closed solids that nobody sees through, in a picture of many. A renderer without a graphics card begins anew for every
// copy of a mesh, and goes to every triangle. So the corners of all copies are written here, with their light, and the
// triangles that face the eye are drawn at once.
class CornerLight {
  constructor() {
    this.seen = new THREE.Matrix4();
    this.lights = LIGHTS.map(() => new THREE.Vector3());
    this.material = program(CORNER_COLOR, PLAIN_COLOR, { seen: { value: this.seen } });
    Object.assign(this.material, { depthTest: true, depthWrite: true, side: THREE.DoubleSide });
    this.crowds = [];
  }

  // Return what draws all copies of an InstancedMesh, which itself is not drawn; null where the mesh is too large.
  // few: geometry of fewer sides, for thin parts that move.
  crowd(copies, few = null) {
    if (copies.geometry.attributes.position.count > MANY_CORNERS) return null;
    const group = new THREE.Scene(), ways = [copies.geometry, few].filter(Boolean).map((geometry) => this.written(copies, geometry));
    group.add(...ways.map(({ drawn }) => drawn));
    this.crowds.push({ copies, group, ways, widest: 0, ...ways[0] });
    return group;
  }

  // All copies with the corners of a geometry.
  written(copies, { attributes: { position, normal }, index: given }) {
    const { count } = copies, corners = position.count;
    const index = given?.array ?? Uint32Array.from({ length: corners }, (_, k) => k);
    const geometry = new THREE.BufferGeometry().setIndex(new THREE.BufferAttribute(new Uint32Array(count * index.length), 1));
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * corners * count), 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Uint8ClampedArray(4 * corners * count), 4, true));
    for (const one of [geometry.index, ...Object.values(geometry.attributes)]) one.setUsage(THREE.DynamicDrawUsage);
    const drawn = uncut(new THREE.Mesh(geometry, this.material));
    return { drawn, vertices: position.array, normals: normal.array, index, planes: planes(position.array, index) };
  }

  // Before every picture: where the eye and all copies are. pixels: of a metre; moving: a rough picture is enough.
  look(camera, pixels, moving) {
    camera.updateMatrixWorld();
    this.seen.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    LIGHTS.forEach(([strength, from], k) => {
      this.lights[k].set(...from).transformDirection(camera.matrixWorld).multiplyScalar(strength);
    });
    const world = camera.matrixWorld.elements, near = camera.isPerspectiveCamera ? 1 : 0; // 0: the eye is far away
    this.eye = [...world.slice(near ? 12 : 8, near ? 15 : 11), near];
    for (const crowd of this.crowds.filter(({ group }) => group.visible)) {
      const few = moving && crowd.widest * pixels < THIN;
      Object.assign(crowd, crowd.ways[few ? crowd.ways.length - 1 : 0]);
      for (const { drawn } of crowd.ways) drawn.visible = drawn === crowd.drawn;
      this.write(crowd);
    }
  }

  // Corners of all copies in the world, with their light. Columns of a placement M are orthogonal, so a normal n turns
  // to M (n / s), s their squares. Lights and eye are taken to axes of the mesh.
  write(crowd) {
    const { copies, drawn, vertices, normals, index, planes } = crowd;
    const { attributes: { position, color }, index: faces } = drawn.geometry, corners = vertices.length / 3;
    const places = position.array, shades = color.array, drawnCorners = faces.array;
    const M = copies.instanceMatrix.array, [one, other] = this.lights, [ex, ey, ez, near] = this.eye;
    const colors = copies.instanceColor?.array, tint = copies.material.color; // of each copy, or one of all
    let [out, shade, filled, thinnest] = [0, 0, 0, Infinity]; // the last is 1 over the square of the widest radius
    for (let copy = 0; copy < copies.count; copy++) {
      const m = 16 * copy, red = 255 * (colors?.[3 * copy] ?? tint.r);
      const green = 255 * (colors?.[3 * copy + 1] ?? tint.g), blue = 255 * (colors?.[3 * copy + 2] ?? tint.b);
      const a = M[m], b = M[m + 1], c = M[m + 2], d = M[m + 4], e = M[m + 5], f = M[m + 6], g = M[m + 8], h = M[m + 9], i = M[m + 10];
      const r = 1 / Math.max(a * a + b * b + c * c, 1e-30), s = 1 / Math.max(d * d + e * e + f * f, 1e-30), t = 1 / Math.max(g * g + h * h + i * i, 1e-30);
      thinnest = Math.min(thinnest, r, s);
      const x1 = r * (a * one.x + b * one.y + c * one.z), x2 = r * (a * other.x + b * other.y + c * other.z);
      const y1 = s * (d * one.x + e * one.y + f * one.z), y2 = s * (d * other.x + e * other.y + f * other.z);
      const z1 = t * (g * one.x + h * one.y + i * one.z), z2 = t * (g * other.x + h * other.y + i * other.z);
      for (let k = 0; k < vertices.length; k += 3, out += 3, shade += 4) {
        const x = vertices[k], y = vertices[k + 1], z = vertices[k + 2], u = normals[k], v = normals[k + 1], w = normals[k + 2];
        places[out] = a * x + d * y + g * z + M[m + 12];
        places[out + 1] = b * x + e * y + h * z + M[m + 13];
        places[out + 2] = c * x + f * y + i * z + M[m + 14];
        const size = 1 / Math.sqrt(u * u * r + v * v * s + w * w * t);
        const light = SKY + Math.max((u * x1 + v * y1 + w * z1) * size, 0) + Math.max((u * x2 + v * y2 + w * z2) * size, 0);
        shades[shade] = red * light;
        shades[shade + 1] = green * light;
        shades[shade + 2] = blue * light;
      }
      const fx = ex - near * M[m + 12], fy = ey - near * M[m + 13], fz = ez - near * M[m + 14], first = corners * copy;
      const x = r * (a * fx + b * fy + c * fz), y = s * (d * fx + e * fy + f * fz), z = t * (g * fx + h * fy + i * fz);
      for (let k = 0, plane = 0; k < index.length; k += 3, plane += 4) {
        if (planes[plane] * x + planes[plane + 1] * y + planes[plane + 2] * z <= planes[plane + 3] * near) continue;
        drawnCorners[filled] = first + index[k];
        drawnCorners[filled + 1] = first + index[k + 1];
        drawnCorners[filled + 2] = first + index[k + 2];
        filled += 3;
      }
    }
    crowd.widest = 1 / Math.sqrt(thinnest);
    drawn.geometry.setDrawRange(0, filled);
    faces.clearUpdateRanges();
    faces.addUpdateRange(0, filled);
    faces.needsUpdate = position.needsUpdate = color.needsUpdate = true;
  }
}

// The plane of every triangle: an outer normal n and n . x of its points.
function planes(vertices, index) {
  const found = new Float32Array((4 * index.length) / 3), corner = (k) => new THREE.Vector3().fromArray(vertices, 3 * index[k]);
  for (let k = 0; k < index.length; k += 3) {
    const first = corner(k), normal = corner(k + 1).sub(first).cross(corner(k + 2).sub(first));
    found.set([...normal.toArray(), normal.dot(first)], (4 * k) / 3);
  }
  return found;
}
