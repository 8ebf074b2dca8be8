"use strict";
// Light of the picture. Without a graphics card, that of many solids is worked out at their corners, and not at pixels.

const SKY = 0.56, LIGHTS = [[0.42, [0.36, 0.62, 0.7]], [0.14, [-0.7, -0.1, 0.7]]]; // from all around; in axes of the eye
const STILL_AFTER = 250; // [ms] without a change, after which a rough picture is drawn once more with smooth edges
const FINER = 2; // times as many pixels, each way, in such a picture

const CORNER_LIGHT = `uniform mat4 seen;
uniform vec3 lights[2];
in vec3 position, normal, instanceColor;
in mat4 instanceMatrix;
out vec3 base;
void main() {
  mat3 M = mat3(instanceMatrix);
  gl_Position = seen * (instanceMatrix * vec4(position, 1.0));
  vec3 square = max(vec3(dot(M[0], M[0]), dot(M[1], M[1]), dot(M[2], M[2])), vec3(1e-30));
  vec3 n = normalize(M * (normal / square)); // columns of M are orthogonal: its inverse transpose
  base = instanceColor * (SKY + max(dot(n, lights[0]), 0.0) + max(dot(n, lights[1]), 0.0));
}`;
const CORNER_COLOR = `in vec3 base;
out vec4 shade;
void main() { shade = vec4(base, 1.0); }`;

// The material of closed solids that nobody sees through, in a picture of many.
class CornerLight {
  constructor() {
    this.seen = new THREE.Matrix4();
    this.lights = LIGHTS.map(() => new THREE.Vector3());
    this.material = program(CORNER_LIGHT.replace("SKY", SKY), CORNER_COLOR, { seen: { value: this.seen }, lights: { value: this.lights } });
    Object.assign(this.material, { depthTest: true, depthWrite: true });
  }

  // Before every picture: where the eye is.
  look(camera) {
    camera.updateMatrixWorld();
    this.seen.multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
    LIGHTS.forEach(([strength, from], k) => {
      this.lights[k].set(...from).transformDirection(camera.matrixWorld).multiplyScalar(strength);
    });
  }
}
