"use strict";
// The soft shadow on the floor, as in the window: what casts one is drawn from above into a small picture, blurred, and
// laid on the floor. Its programs, pixels and floor come from scene/drawing.py.

const CUSTOM_BLENDING = 5, LARGEST = 104, ONE = 201, WITHOUT_CARD = /swiftshader|llvmpipe|software|basic render/i;
const QUAD_VERTEX = `in vec3 position;
out vec2 place;
void main() { place = position.xy; gl_Position = vec4(2.0 * position.xy - 1.0, 0.0, 1.0); }`;
const FLOOR_VERTEX = `uniform mat4 projectionMatrix, viewMatrix;
uniform vec3 corner, east, north;
in vec3 position;
out vec2 place;
void main() { place = position.xy; gl_Position = projectionMatrix * viewMatrix * vec4(corner + position.x * east + position.y * north, 1.0); }`;
const CAST_VERTEX = `uniform mat4 down;
uniform float opacity;
in vec3 position;
in mat4 instanceMatrix;
out vec4 base;
FADE
void main() {
  vec4 seen = down * (instanceMatrix * vec4(position, 1.0));
  base = vec4(opacity * fade(seen.z));
  gl_Position = vec4(seen.xy, 0.0, 1.0);
}`;
const CAST_FRAGMENT = `in vec4 base;
out vec4 shade;
void main() { shade = base; }`;

class Shadow {
  // given: content.shadow; pieces: of the stage; scene: where the floor is.
  constructor(given, pieces, scene, renderer) {
    this.given = given;
    const texts = pieces.filter(({ casts, mesh }) => casts && mesh !== undefined);
    const count = pieces.reduce((sum, piece) => sum + (piece.instances?.length ?? 0), 0);
    this.off = isSoftware(renderer.getContext()) && count > given.crowd;
    if (this.off) return;
    this.targets = [0, 1].map(() => new THREE.WebGLRenderTarget(given.pixels, given.pixels, { depthBuffer: false }));
    this.camera = new THREE.OrthographicCamera();
    this.above = new THREE.Scene();
    this.casters = texts.map((piece) => this.addCaster(piece));
    const quad = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array([0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0]), 3));
    this.blur = program(QUAD_VERTEX, given.blur, { picture: { value: null }, way: { value: new THREE.Vector2() } });
    this.flat = new THREE.Scene();
    this.flat.add(uncut(new THREE.Mesh(quad, this.blur)));
    const [corner, east, north] = [given.corner, given.east, given.north].map((one) => ({ value: new THREE.Vector3(...one) }));
    this.floor = program(FLOOR_VERTEX, given.lay, { picture: { value: this.targets[0].texture }, dark: { value: 0 }, corner, east, north });
    Object.assign(this.floor, { transparent: true, depthTest: true });
    this.laid = uncut(new THREE.Mesh(quad, this.floor));
    scene.add(this.laid);
  }

  addCaster({ drawn, part, opacity }) {
    const cast = program(CAST_VERTEX.replace("FADE", this.given.fade), CAST_FRAGMENT, {
      down: { value: new THREE.Matrix4().set(...this.given.down) }, opacity: { value: opacity },
    });
    Object.assign(cast, { blending: CUSTOM_BLENDING, blendEquation: LARGEST, blendSrc: ONE, blendDst: ONE, transparent: true, side: THREE.DoubleSide });
    const mesh = uncut(new THREE.InstancedMesh(drawn.geometry, cast, drawn.count));
    mesh.instanceMatrix = drawn.instanceMatrix;
    this.above.add(mesh);
    return { mesh, part };
  }

  // Make it anew; ``shown`` are the parts of the scene that are.
  make(renderer, shown, dark) {
    if (this.off) return;
    this.laid.visible = shown.grid;
    if (!shown.grid) return;
    for (const { mesh, part } of this.casters) mesh.visible = shown[part];
    this.floor.uniforms.dark.value = dark;
    const color = renderer.getClearColor(new THREE.Color()), [one, other] = this.targets, pixel = 1 / this.given.pixels;
    renderer.setClearColor(0, 0);
    this.render(renderer, this.above, one);
    for (const [from, to, x, y] of [[one, other, pixel, 0], [other, one, 0, pixel]]) {
      this.blur.uniforms.picture.value = from.texture;
      this.blur.uniforms.way.value.set(x, y);
      this.render(renderer, this.flat, to);
    }
    renderer.setRenderTarget(null);
    renderer.setClearColor(color, 1);
  }

  render(renderer, scene, target) {
    renderer.setRenderTarget(target);
    renderer.render(scene, this.camera);
  }
}

function program(vertex, fragment, uniforms) {
  const text = (one) => `precision highp float;\n${one.replace(/^#version.*\n/, "")}`;
  return new THREE.RawShaderMaterial({
    glslVersion: "300 es", vertexShader: text(vertex), fragmentShader: text(fragment), uniforms, depthTest: false, depthWrite: false,
  });
}

function uncut(mesh) {
  mesh.frustumCulled = false;
  return mesh;
}

// True without a graphics card.
function isSoftware(gl) {
  const about = gl?.getExtension("WEBGL_debug_renderer_info");
  return Boolean(gl) && WITHOUT_CARD.test(gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
}
