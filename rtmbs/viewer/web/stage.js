"use strict";
// The scene in three.js: what a body carries, what moves by itself, and the eye. Lengths in m; matrices 3 x 4 by rows.

const MARGIN = 1.08; // room around everything that is fitted
const SMOOTH = 4, MANY = 20000; // points of a way between two pictures; a way of more pictures has one
const BUTTONS = 44; // pixels at the upper border that are left free for them
const SHARED = 100000; // numbers of a mesh, up to which its corners are compared
const PARTING = 16; // lines that may part points from a corner of the picture
const NEAREST = 0.002, FARTHEST = 60; // clip planes in distances of the eye

// The geometry of a mesh. A corner that triangles share is worked out once: without a graphics card corners cost most.
function solid({ vertices, normals }) {
  const geometry = new THREE.BufferGeometry(), corners = new Map(), kept = [];
  const put = (points, turned) => geometry
    .setAttribute("position", new THREE.BufferAttribute(points, 3))
    .setAttribute("normal", new THREE.BufferAttribute(turned, 3));
  if (vertices.length > SHARED) return put(vertices, normals);
  const index = Array.from({ length: vertices.length / 3 }, (_, k) => {
    const key = `${vertices.slice(3 * k, 3 * k + 3)} ${normals.slice(3 * k, 3 * k + 3)}`;
    if (!corners.has(key)) {
      corners.set(key, corners.size);
      kept.push(k);
    }
    return corners.get(key);
  });
  const only = (values) => Float32Array.from(kept.flatMap((k) => [...values.slice(3 * k, 3 * k + 3)]));
  return put(only(vertices), only(normals)).setIndex(index);
}

// True unless a line parts points in the picture from the upper right corner, which begins at x, y from -1 to 1.
function covers(points, [x, y, z], { center, distance, high, wide, lean }, corner) {
  const seen = points.map((point) => {
    const from = point.clone().sub(center), depth = distance - lean * from.dot(z);
    return [from.dot(x) / (wide * depth), from.dot(y) / (high * depth)];
  });
  return Array.from({ length: PARTING }, (_, k) => ((0.5 * Math.PI) / (PARTING - 1)) * k).every((turn) => {
    const [a, b] = [Math.cos(turn), Math.sin(turn)];
    return Math.max(...seen.map(([u, v]) => a * u + b * v)) > a * corner.x + b * corner.y;
  });
}

class Stage {
  constructor(content, canvas, names) {
    this.content = content;
    this.canvas = canvas;
    this.names = new Names(names, content);
    this.shown = { bodies: true, joints: true, springs: true, forces: true, grid: true, axes: true, trails: true, reactions: true };
    this.labels = false;
    this.selected = -1;
    this.followed = content.follow;
    this.goingWithAll = content.far;
    this.frames = new Float64Array(12 * content.bodies.length); // of the bodies now
    THREE.ColorManagement.enabled = false; // colours are those of the window, number by number
    const parts = content.pieces.reduce((sum, piece) => sum + (piece.mesh === undefined ? 0 : piece.count), 0);
    const rough = parts > (content.shadow?.crowd ?? Infinity) && isSoftware(document.createElement("canvas").getContext("webgl2"));
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: !rough }); // smooth edges cost most of a crowd
    this.corners = rough ? new CornerLight() : null;
    this.finer = 1; // times the pixels of the screen, each way
    this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    this.scene = new THREE.Scene();
    this.makeEye();
    this.pieces = [];
    content.pieces.forEach((piece, number) => this.addPiece(piece, number));
    this.shadow = content.shadow ? new Shadow(content.shadow, this.pieces, this.scene, this.renderer) : null;
    this.arrows = content.reactions ? new Arrows(content.reactions, this.scene, this.corners) : null;
    this.ways = new Map();
    content.traces.forEach((number) => this.toggleWay(number));
    this.show(0, 0);
  }

  // ---- eye ----

  makeEye() {
    const { up, angle, size } = this.content;
    this.perspective = new THREE.PerspectiveCamera(angle, 1, 0.01, 100);
    this.orthographic = new THREE.OrthographicCamera();
    for (const camera of [this.perspective, this.orthographic]) {
      camera.up.set(...up);
      for (const [strength, from] of LIGHTS) {
        const one = new THREE.DirectionalLight(0xffffff, strength * Math.PI);
        one.position.set(...from);
        camera.add(one, one.target);
      }
      this.scene.add(camera);
    }
    this.scene.add(new THREE.AmbientLight(0xffffff, SKY * Math.PI));
    this.controls = new THREE.OrbitControls(this.perspective, this.canvas);
    this.controls.zoomToCursor = true;
    this.controls.mouseButtons.MIDDLE = THREE.MOUSE.PAN;
    this.controls.minDistance = 0.01 * size;
    this.reached = []; // tips of arrows, in each direction the farthest
    this.held = false; // a live picture holds where its motion comes, until the user moves the picture
    let moving = false;
    this.controls.addEventListener("start", () => { moving = true; });
    this.controls.addEventListener("change", () => { this.held &&= !moving; });
    this.controls.addEventListener("end", () => { moving = false; });
    this.setParallel(this.content.parallel);
  }

  setParallel(parallel) {
    this.parallel = parallel;
    const [now, before] = parallel ? [this.orthographic, this.perspective] : [this.perspective, this.orthographic];
    now.position.copy(before.position);
    this.camera = this.controls.object = now;
    this.perspective.children.concat(this.orthographic.children).forEach((light) => {
      light.visible = light.parent === now;
    });
  }

  // Stand in direction ``backward`` of everything, so near that everything is in the picture.
  fit(backward) {
    const points = this.fitted(), z = backward.clone().normalize();
    const up = new THREE.Vector3(...this.content.up);
    if (Math.abs(z.dot(up)) > 1 - 1e-6) z.addScaledVector(new THREE.Vector3(...this.content.north), -1e-3).normalize();
    const x = new THREE.Vector3().crossVectors(up, z).normalize(), y = new THREE.Vector3().crossVectors(z, x);
    const room = this.names.cube.room(this.canvas.clientWidth, this.canvas.clientHeight);
    let found = this.standing(points, [x, y, z], BUTTONS, 0);
    if (this.shown.axes && room && covers(points, [x, y, z], found, room)) { // the cube keeps its corner
      const ways = [[BUTTONS, room.wide], [room.high, 0]].map(([top, right]) => this.standing(points, [x, y, z], top, right));
      found = ways[0].distance < ways[1].distance ? ways[0] : ways[1];
    }
    const { center, distance } = found;
    this.controls.target.copy(center);
    for (const camera of [this.perspective, this.orthographic]) {
      camera.zoom = 1;
      camera.position.copy(center).addScaledVector(z, distance);
    }
    this.resize();
    this.controls.update();
    this.held = true;
  }

  // Where an eye with axes x, y, z stands, and how far from there, so that points fill what borders [pixels] leave.
  standing(points, [x, y, z], above, beside) {
    const high = Math.tan((this.content.angle * Math.PI) / 360), wide = high * this.aspect();
    const left = (pixels, size) => Math.max(1 - (2 * pixels) / Math.max(size, 1), 0.4);
    const top = high * left(above, this.canvas.clientHeight), right = wide * left(beside, this.canvas.clientWidth);
    const most = { left: -Infinity, right: -Infinity, low: -Infinity, up: -Infinity, near: -Infinity, far: -Infinity };
    const lean = this.parallel ? 0 : 1;
    for (const point of points) {
      const [a, b, c] = [point.dot(x), point.dot(y), point.dot(z)];
      most.right = Math.max(most.right, a + lean * right * c);
      most.left = Math.max(most.left, -a + lean * wide * c);
      most.up = Math.max(most.up, b + lean * top * c);
      most.low = Math.max(most.low, -b + lean * high * c);
      most.near = Math.max(most.near, c);
      most.far = Math.max(most.far, -c);
    }
    const reach = Math.max((most.left + most.right) / (wide + right), (most.low + most.up) / (top + high));
    const depth = (most.near - most.far) / 2;
    const distance = Math.max(MARGIN * (this.parallel ? reach : reach - depth), 1e-6 + 0.02 * this.content.size);
    const along = (most.right - most.left) / 2 + ((wide - right) / 2) * (distance + lean * depth);
    const middle = (most.up - most.low) / 2 + ((high - top) / 2) * (distance + lean * depth);
    const center = x.clone().multiplyScalar(along).addScaledVector(y, middle).addScaledVector(z, depth);
    if (this.goesWithItsBody()) center.copy(this.center(this.followed)).addScaledVector(y, ((high - top) / 2) * distance);
    return { center, distance, high, wide, lean };
  }

  goesWithItsBody() {
    return this.followed > 0 && this.followed === this.content.follow;
  }

  fitted() {
    if (this.goesWithItsBody()) {
      const center = this.center(this.followed);
      return this.content.around.map((point) => new THREE.Vector3(...point).add(center));
    }
    const points = this.content.whole.map((point) => new THREE.Vector3(...point));
    if (!this.goingWithAll) return points.concat(this.present());
    const moved = this.middle().sub(new THREE.Vector3(...this.content.middle));
    return points.map((point) => point.add(moved)).concat(this.present());
  }

  // Tips of arrows, and the joints and points of a live page, which cannot know beforehand where a motion takes them.
  present() {
    const tips = this.arrows && this.shown.reactions ? this.arrows.tips : [];
    if (!this.content.live) return tips;
    return tips.concat(this.reached.map((one) => new THREE.Vector3(...one)), this.jointsAndPoints());
  }

  jointsAndPoints() {
    const { b, at } = this.arrows?.given ?? { b: [], at: [] };
    const joints = b.map((body, joint) => this.world(body, at[joint]));
    return joints.concat(this.content.points.map(({ body, at: local }) => this.world(body, local)));
  }

  // As Scene.remember of the window: what a picture of everything holds grows to where the motion of a live page came,
  // and stays as it is when the mechanism goes too far for one picture.
  remember() {
    const { live: { directions, reach }, whole, size } = this.content;
    if (this.goingWithAll || whole.length !== directions.length) return;
    const tips = this.rememberTips(directions);
    if (this.held && tips.some((one) => this.isOutside(one))) this.fit(this.direction());
    const grown = farthest(directions, whole, this.jointsAndPoints());
    const span = (i) => Math.max(...grown.map((one) => one[i])) - Math.min(...grown.map((one) => one[i]));
    if (Math.max(span(0), span(1), span(2)) > reach * size) return;
    this.content.whole = grown;
    if (this.held && grown.some((one, k) => one !== whole[k] && this.isOutside(one))) this.fit(this.direction());
  }

  // Remember where tips of arrows came, and return the new ones; those of another scale are forgotten.
  rememberTips(directions) {
    const tips = this.arrows && this.shown.reactions ? this.arrows.tips : [], before = this.reached;
    if (!tips.length || this.arrows.newtons !== this.scaleOfTips) this.reached = [];
    this.scaleOfTips = this.arrows?.newtons;
    if (!tips.length) return [];
    const known = this.reached.length ? before : directions.map(() => tips[0].toArray());
    const grown = farthest(directions, known, tips);
    const fresh = this.reached.length ? grown.filter((one, k) => one !== before[k]) : grown;
    this.reached = grown;
    return fresh;
  }

  // True for a point that the picture lacks.
  isOutside(place) {
    this.camera.updateMatrixWorld();
    const { x, y } = new THREE.Vector3(...place).project(this.camera);
    return Math.abs(x) > 1 || y < -1 || y > 1 - (2 * BUTTONS) / Math.max(this.canvas.clientHeight, 1);
  }

  direction() {
    return this.camera.position.clone().sub(this.controls.target);
  }

  // Pixels of a metre at the depth of the middle.
  pixelsOfMetre() {
    const high = 2 * this.direction().length() * Math.tan((this.content.angle * Math.PI) / 360);
    return (this.camera.zoom * this.canvas.clientHeight) / high;
  }

  aspect() {
    return Math.max(this.canvas.clientWidth, 1) / Math.max(this.canvas.clientHeight, 1);
  }

  resize() {
    const [width, height] = [Math.max(this.canvas.clientWidth, 1), Math.max(this.canvas.clientHeight, 1)];
    const ratio = Math.min(window.devicePixelRatio || 1, 2) * this.finer;
    if (this.sized !== `${width} ${height} ${ratio}`) { // a canvas that is given its size is cleared
      this.sized = `${width} ${height} ${ratio}`;
      this.renderer.setPixelRatio(ratio);
      this.renderer.setSize(width, height, false);
      this.names.canvas.width = width * ratio;
      this.names.canvas.height = height * ratio;
    }
    const distance = this.direction().length();
    const half = distance * Math.tan((this.content.angle * Math.PI) / 360);
    this.perspective.aspect = width / height;
    this.perspective.near = NEAREST * distance;
    Object.assign(this.orthographic, { top: half, bottom: -half, right: (half * width) / height });
    this.orthographic.left = -this.orthographic.right;
    this.orthographic.near = -FARTHEST * distance;
    this.perspective.far = this.orthographic.far = FARTHEST * distance;
    this.perspective.updateProjectionMatrix();
    this.orthographic.updateProjectionMatrix();
  }

  // ---- things ----

  addPiece(piece, number) {
    const places = piece.loose ? this.content.loose[number] : piece.places;
    if (piece.mesh === undefined) {
      this.addLines(piece, places);
      return;
    }
    const opacities = piece.colors.white.filter((_, k) => k % 4 === 3);
    const all = [...Array(piece.count).keys()], opacity = (k) => opacities[Math.min(k, opacities.length - 1)];
    for (const share of new Set(opacities)) this.addMesh(piece, places, all.filter((k) => opacity(k) === share), share);
  }

  addMesh(piece, places, instances, opacity) {
    const given = this.content.meshes[piece.mesh];
    given.geometry ??= solid(given);
    const clear = opacity < 0.999;
    const outer = given.closed && !clear; // of a solid that nobody sees through the inner side is never seen
    const material = new THREE.MeshLambertMaterial({
      side: outer ? THREE.FrontSide : THREE.DoubleSide, transparent: clear, opacity, depthWrite: !clear,
    });
    const mesh = new THREE.InstancedMesh(given.geometry, material, instances.length);
    mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    mesh.frustumCulled = false;
    mesh.renderOrder = clear ? 2 : 0;
    if (this.corners && given.few) given.few.geometry ??= solid(given.few);
    const crowd = outer && this.corners ? this.corners.crowd(mesh, given.few?.geometry) : null; // drawn in place of the mesh
    this.scene.add(crowd ?? mesh);
    this.pieces.push({ ...piece, places, instances, opacity, drawn: mesh, crowd });
  }

  addLines(piece, places) {
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6 * piece.count), 3));
    geometry.setAttribute("color", new THREE.BufferAttribute(new Float32Array(8 * piece.count), 4));
    const lines = new THREE.LineSegments(geometry, new THREE.LineBasicMaterial({ vertexColors: true, transparent: true }));
    lines.frustumCulled = false;
    lines.renderOrder = 1;
    this.scene.add(lines);
    this.pieces.push({ ...piece, places, drawn: lines });
  }

  setTheme(theme) {
    this.theme = theme;
    const colors = this.content.themes[theme], chosen = new THREE.Color(colors.selected), color = new THREE.Color();
    this.renderer.setClearColor(colors.background);
    for (const piece of this.pieces) {
      const given = piece.colors[theme], last = given.length / 4 - 1;
      if (piece.mesh === undefined) {
        const own = piece.drawn.geometry.attributes.color;
        for (let k = 0; k < 2 * piece.count; k++) {
          const from = 4 * Math.min(k >> 1, last);
          own.setXYZW(k, given[from], given[from + 1], given[from + 2], given[from + 3]);
        }
        own.needsUpdate = true;
        continue;
      }
      piece.instances.forEach((k, place) => {
        const from = 4 * Math.min(k, last);
        color.setRGB(given[from], given[from + 1], given[from + 2]);
        const marked = piece.part === "bodies" && piece.body[k] === this.selected && this.selected > 0;
        piece.drawn.setColorAt(place, marked ? chosen : color);
      });
      if (piece.drawn.instanceColor) piece.drawn.instanceColor.needsUpdate = true;
    }
    this.arrows?.setTheme(colors);
    for (const [number, way] of this.ways) this.colorWay(number, way);
  }

  // ---- motion ----

  // Stand at picture ``k`` and the share ``between`` of the way to the next; ``time`` of a live page.
  show(k, between, time = 0) {
    this.time = time;
    const before = this.followedPoint();
    this.carry(k, between);
    if (this.content.live) this.remember();
    for (const piece of this.pieces) this.place(piece, k, between);
    for (const [number, way] of this.ways) {
      const { body, at } = this.content.points[number];
      if (way.add) way.add(this.world(body, at), this.time);
      else way.past.geometry.setDrawRange(0, Math.floor((k + between) * this.smooth) + 1);
    }
    if (this.shown.reactions) this.arrows?.show(k, between, (body, local) => this.world(body, local));
    const after = this.followedPoint();
    if (before && after) {
      this.controls.target.add(after).sub(before);
      this.perspective.position.add(after).sub(before);
      this.orthographic.position.add(after).sub(before);
      this.controls.update();
    }
  }

  // Rotation and origin of every body.
  carry(k, between) {
    const { r, q, bodies, t } = this.content, count = bodies.length, next = Math.min(k + 1, t.length - 1), out = this.frames;
    const mix = (values, a, b) => values[a] * (1 - between) + values[b] * between;
    for (let body = 0; body < count; body++) {
      const a = k * count + body, b = next * count + body, at = 12 * body;
      let w = mix(q, 4 * a, 4 * b), x = mix(q, 4 * a + 1, 4 * b + 1), y = mix(q, 4 * a + 2, 4 * b + 2), z = mix(q, 4 * a + 3, 4 * b + 3);
      const length = Math.sqrt(w * w + x * x + y * y + z * z) || 1;
      w /= length; x /= length; y /= length; z /= length;
      out[at] = 1 - 2 * (y * y + z * z); out[at + 1] = 2 * (x * y - w * z); out[at + 2] = 2 * (x * z + w * y);
      out[at + 4] = 2 * (x * y + w * z); out[at + 5] = 1 - 2 * (x * x + z * z); out[at + 6] = 2 * (y * z - w * x);
      out[at + 8] = 2 * (x * z - w * y); out[at + 9] = 2 * (y * z + w * x); out[at + 10] = 1 - 2 * (x * x + y * y);
      for (let i = 0; i < 3; i++) out[at + 4 * i + 3] = mix(r, 3 * a + i, 3 * b + i);
    }
  }

  place(piece, k, between) {
    const own = piece.mesh === undefined ? piece.drawn.geometry.attributes.position : piece.drawn.instanceMatrix;
    if (!piece.loose && own.placed && !piece.body?.some((body) => body > 0)) return; // stands still
    const size = piece.mesh === undefined ? 6 : 12, row = size * piece.count;
    const next = Math.min(k + 1, this.content.t.length - 1);
    const mixed = new Float64Array(size); // one place of a piece that moves by itself, between two pictures
    const at = (instance) => {
      const from = size * instance;
      if (!piece.loose) return piece.places.subarray(from, from + size);
      for (let n = from; n < from + size; n++) {
        mixed[n - from] = piece.places[k * row + n] * (1 - between) + piece.places[next * row + n] * between;
      }
      return mixed;
    };
    if (piece.mesh === undefined) {
      for (let line = 0; line < piece.count; line++) own.array.set(at(line), size * line);
    } else {
      piece.instances.forEach((instance, place) => {
        if (piece.loose) this.write(own.array, 16 * place, at(instance), 0, 0);
        else this.write(own.array, 16 * place, piece.places, 12 * instance, piece.body[instance]);
      });
      if (piece.part === "bodies") piece.drawn.boundingSphere = null;
    }
    own.placed = own.needsUpdate = true;
  }

  // The product of a body's frame and the placement at ``place`` of ``local``, by columns of four as three.js wants it.
  write(out, from, local, place, body) {
    const { frames } = this;
    for (let i = 0; i < 3; i++) {
      const row = 12 * body + 4 * i, a = frames[row], b = frames[row + 1], c = frames[row + 2];
      for (let j = 0; j < 4; j++) {
        const moved = a * local[place + j] + b * local[place + 4 + j] + c * local[place + 8 + j];
        out[from + 4 * j + i] = moved + (j === 3 ? frames[row + 3] : 0);
      }
    }
    out[from + 3] = out[from + 7] = out[from + 11] = 0;
    out[from + 15] = 1;
  }

  // The point ``local`` of a body in the world now.
  world(body, local) {
    const frame = this.frames.subarray(12 * body, 12 * body + 12);
    const row = (i) => frame[4 * i] * local[0] + frame[4 * i + 1] * local[1] + frame[4 * i + 2] * local[2] + frame[4 * i + 3];
    return new THREE.Vector3(row(0), row(1), row(2));
  }

  // A point of the world in the axes of a body now.
  local(body, point) {
    const frame = this.frames.subarray(12 * body, 12 * body + 12);
    const away = [point.x - frame[3], point.y - frame[7], point.z - frame[11]];
    return [0, 1, 2].map((j) => frame[j] * away[0] + frame[4 + j] * away[1] + frame[8 + j] * away[2]);
  }

  // A line from a pulled point to the mouse, or none.
  setPull(grab) {
    if (!this.pull) {
      const geometry = new THREE.BufferGeometry();
      geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(6), 3));
      this.pull = new THREE.Line(geometry, new THREE.LineBasicMaterial());
      this.pull.frustumCulled = false;
      this.scene.add(this.pull);
    }
    this.pull.visible = Boolean(grab);
    if (!grab) return;
    this.pull.material.color.set(this.content.themes[this.theme ?? "white"].grab);
    const { position } = this.pull.geometry.attributes;
    position.array.set([...grab.point, ...grab.target]);
    position.needsUpdate = true;
  }

  center(body) {
    return this.world(body, this.content.centers[body]);
  }

  middle() {
    const found = new THREE.Vector3(), count = this.content.bodies.length - 1;
    for (let body = 1; body <= count; body++) found.add(this.center(body));
    return found.divideScalar(Math.max(count, 1));
  }

  followedPoint() {
    if (this.followed > 0) return this.center(this.followed);
    return this.goingWithAll ? this.middle() : null;
  }

  // ---- ways of points ----

  toggleWay(number) {
    const old = this.ways.get(number);
    if (old) {
      this.scene.remove(old.past, old.whole);
      this.ways.delete(number);
      return false;
    }
    if (this.content.live) {
      this.ways.set(number, new LiveWay(this.scene));
      this.colorWay(number, this.ways.get(number));
      return true;
    }
    const { body, at } = this.content.points[number], places = this.wayOf(body, at);
    const line = (opacity) => {
      const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(places, 3));
      const one = new THREE.Line(geometry, new THREE.LineBasicMaterial({ transparent: true, opacity }));
      one.frustumCulled = false;
      one.renderOrder = 1;
      this.scene.add(one);
      return one;
    };
    const way = { whole: line(0.3), past: line(1) };
    this.ways.set(number, way);
    this.colorWay(number, way);
    return true;
  }

  // Where a point of a body comes to: a cubic through the pictures, with the slope of the two beside each.
  wayOf(body, at) {
    const count = this.content.t.length, kept = this.frames.slice(), places = [];
    for (let k = 0; k < count; k++) {
      this.carry(k, 0);
      places.push(this.world(body, at));
    }
    this.frames.set(kept);
    this.smooth = count > MANY ? 1 : SMOOTH;
    const found = new Float32Array(3 * ((count - 1) * this.smooth + 1)), point = new THREE.Vector3();
    for (let n = 0; 3 * n < found.length; n++) {
      const k = Math.floor(n / this.smooth), u = n / this.smooth - k;
      const [a, b, c, d] = [-1, 0, 1, 2].map((i) => places[Math.min(Math.max(k + i, 0), count - 1)]);
      point.set(0, 0, 0).addScaledVector(a, u * (-1 + u * (2 - u)) / 2).addScaledVector(b, 1 + u * u * (3 * u - 5) / 2);
      point.addScaledVector(c, u * (1 + u * (4 - 3 * u)) / 2).addScaledVector(d, u * u * (u - 1) / 2).toArray(found, 3 * n);
    }
    return found;
  }

  wayColor(number) {
    const palette = this.content.themes[this.theme ?? "white"].plots;
    return palette[(number + 1) % palette.length];
  }

  colorWay(number, way) {
    const color = this.wayColor(number);
    way.past.material.color.set(color);
    way.whole.material.color.set(color);
  }

  // ---- looking ----

  // The ray through a pixel of the canvas.
  ray(x, y) {
    const at = new THREE.Vector2((2 * x) / this.canvas.clientWidth - 1, 1 - (2 * y) / this.canvas.clientHeight);
    const ray = new THREE.Raycaster();
    this.camera.updateMatrixWorld();
    ray.setFromCamera(at, this.camera);
    return ray;
  }

  // The body under a pixel of the canvas, and the point that is hit.
  pick(x, y) {
    const ray = this.ray(x, y);
    const solids = this.pieces.filter((piece) => piece.part === "bodies" && piece.mesh !== undefined && piece.drawn.visible);
    const hit = ray.intersectObjects(solids.map((piece) => piece.drawn), false)[0];
    if (!hit) return null;
    const piece = solids.find((one) => one.drawn === hit.object);
    return { body: piece.body[piece.instances[hit.instanceId]], point: hit.point };
  }

  select(body) {
    this.selected = body;
    this.setTheme(this.theme);
  }

  draw() {
    for (const { drawn, crowd, part } of this.pieces) drawn.visible = (crowd ?? drawn).visible = this.shown[part];
    for (const way of this.ways.values()) way.past.visible = way.whole.visible = this.shown.trails;
    if (this.arrows) this.arrows.visible = this.shown.reactions;
    this.shadow?.make(this.renderer, this.shown, this.content.themes[this.theme].shadow);
    this.corners?.look(this.camera, this.pixelsOfMetre(), this.finer === 1);
    this.renderer.render(this.scene, this.camera);
    this.names.draw(this);
  }
}

// Of places, and of points, those that lie farthest in each direction, as camera.reached of the window.
function farthest(directions, places, points) {
  return directions.map(([a, b, c], k) => {
    let [best, found] = [a * places[k][0] + b * places[k][1] + c * places[k][2], null];
    for (const point of points) {
      const along = a * point.x + b * point.y + c * point.z;
      if (along > best) [best, found] = [along, point];
    }
    return found ? found.toArray() : places[k];
  });
}
