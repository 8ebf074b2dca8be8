"use strict";
// Reactions of joints as arrows of one scale, as the window draws them: forces, and moments with two heads.

class Arrows {
  // given: what content.py wrote; scene: of three.js; corners: light of a crowd, or null.
  constructor(given, scene, corners) {
    Object.assign(this, { given, newtons: given.newtons, moment: given.moment, count: given.b.length, tips: [] });
    const parts = { shaft: 1, head: 1, "moment shaft": 1, "moment head": 2 };
    this.drawn = Object.entries(parts).map(([name, each]) => {
      const geometry = solid(given.meshes[name.split(" ").pop()]);
      const mesh = new THREE.InstancedMesh(geometry, new THREE.MeshLambertMaterial({ side: THREE.DoubleSide }), each * this.count);
      mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
      mesh.frustumCulled = false;
      mesh.crowd = corners?.crowd(mesh) ?? mesh; // drawn in place of the mesh
      scene.add(mesh.crowd);
      return mesh;
    });
  }

  setTheme(colors) {
    this.drawn.forEach((mesh, number) => mesh.material.color.set(number < 2 ? colors.reaction : colors.reaction_moment));
  }

  set visible(on) {
    for (const mesh of this.drawn) mesh.crowd.visible = on;
  }

  // Stand at picture ``k`` and the share ``between`` of the way to the next; ``world`` places a point of a body.
  show(k, between, world) {
    const { forces, moments, b, at } = this.given, [shafts, heads, shaftsTwo, headsTwo] = this.drawn;
    for (const mesh of this.drawn) mesh.count = 0;
    this.tips = [];
    const next = Math.min(k + 1, forces.length / (3 * this.count) - 1);
    for (let joint = 0; joint < this.count; joint++) {
      const start = world(b[joint], at[joint]);
      const mixed = (values) => new THREE.Vector3(...[0, 1, 2].map((i) => (
        values[3 * (k * this.count + joint) + i] * (1 - between) + values[3 * (next * this.count + joint) + i] * between)));
      this.lay(start, mixed(forces).divideScalar(this.newtons), shafts, heads, false);
      this.lay(start, mixed(moments).divideScalar(this.moment), shaftsTwo, headsTwo, true);
    }
    for (const mesh of this.drawn) mesh.instanceMatrix.needsUpdate = true;
  }

  // One arrow; one too short to be seen, or not a number, is left out, and one longer than the picture is cut.
  lay(start, along, shafts, heads, double) {
    const { looks, length, radius } = this.given, size = along.length();
    if (!(size > looks.shortest * length)) return;
    const cut = Math.min(size, looks.longest * length), unit = along.divideScalar(size);
    const head = Math.min(looks.head * radius, looks.most_head * cut);
    const on = (far) => start.clone().addScaledVector(unit, far);
    this.put(shafts, start, on(cut - head), Math.min(looks.shaft * radius, looks.most_shaft * cut));
    this.tips.push(on(cut));
    const width = looks.width * Math.min(radius, head / looks.head);
    this.put(heads, on(cut - head), on(cut), width);
    if (double) this.put(heads, on(cut - head - looks.second * head), on(cut - looks.second * head), width);
  }

  // Stretch a mesh from z = 0 to z = 1 between two points.
  put(mesh, from, to, radius) {
    const along = to.clone().sub(from), z = along.clone().normalize();
    const [a, b, c] = z.toArray().map(Math.abs);
    const least = new THREE.Vector3(a <= b && a <= c ? 1 : 0, b < a && b <= c ? 1 : 0, c < a && c < b ? 1 : 0);
    const x = new THREE.Vector3().crossVectors(z, least).normalize();
    const y = new THREE.Vector3().crossVectors(z, x);
    const placed = new THREE.Matrix4().makeBasis(x.multiplyScalar(radius), y.multiplyScalar(radius), along).setPosition(from);
    mesh.setMatrixAt(mesh.count++, placed);
  }

  // Let an arrow mean the next larger or smaller round force; moments keep their proportion.
  step(up) {
    const { steps, next } = this.given.looks, wanted = this.newtons * (up ? next : 1 / next);
    const power = 10 ** Math.floor(Math.log10(wanted)), off = (one) => Math.abs(Math.log((one * power) / wanted));
    const round = steps.reduce((best, one) => (off(one) < off(best) ? one : best)) * power;
    this.chosen = true;
    this.moment *= round / this.newtons;
    this.newtons = round;
  }

  get sentence() {
    const [unit, words] = this.given.unit, shown = (value) => String(Number((unit * value).toPrecision(3)));
    return `arrows: ${words} is ${shown(this.newtons)} N, with two heads ${shown(this.moment)} N m`;
  }
}
