"use strict";
// A live page: a session that steps elsewhere sends its pictures, and takes what is asked for here.

const AGAIN = 1000; // [ms] until a lost session is looked for again
const PULLS = 30; // [ms] between targets of a pull
const KEPT = "rtmbs camera"; // where the camera is kept while the page is loaded anew
const TRAIL = 400; // pictures that a way remembers
const NOTCHES = 1000; // of a slider

function openWebSocket() {
  const address = new URL("live", location.href);
  address.protocol = address.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  return socket;
}

// Time as the session has it; the slider goes over its steps. Asks for what Player does by itself.
class LivePlayer {
  constructor(content, changed, ask) {
    Object.assign(this, { speeds: content.speeds, changed, ask, marks: new Set() });
    this.now = { t: content.t[0], step: 0, oldest: 0, newest: 0, h: 0, playing: false, looping: false, speed: content.speed };
  }

  get time() { return this.now.t; }
  get place() { return this.now.step; }
  get first() { return this.now.oldest; }
  get last() { return Math.max(this.now.newest, this.now.oldest + 1); }
  get playing() { return this.now.playing; }
  get speed() { return this.now.speed; }
  get looping() { return this.now.looping; }
  set looping(on) { this.ask({ do: "loop", on }); }
  get picture() { return 0; }
  get between() { return 0; }

  placeOf(mark) { return mark; }
  advance() {}
  play() { this.ask({ do: "play" }); }
  pause(place) { this.ask(place === undefined ? { do: "pause" } : { do: "seek", step: Math.round(place) }); }
  reset() { this.ask({ do: "reset" }); }
  step(count) { this.ask({ do: "step", count }); }
  setSpeed(factor) { this.ask({ do: "speed", factor }); }
  faster() { this.setSpeed(this.speeds.find((speed) => speed > this.speed * 1.001) ?? this.speed); }
  slower() { this.setSpeed([...this.speeds].reverse().find((speed) => speed < this.speed * 0.999) ?? this.speeds[0]); }

  // Go to the remembered step nearest to a time.
  goTo(t) { this.ask({ do: "time", t }); }

  mark() {
    if (!this.marks.delete(this.place)) this.marks.add(this.place);
    this.changed();
  }

  jump(side) {
    const beyond = [...this.marks].filter((mark) => side * (mark - this.place) > 0);
    if (beyond.length) this.pause(side > 0 ? Math.min(...beyond) : Math.max(...beyond));
    return beyond.length > 0;
  }
}

class Live {
  constructor(page) {
    this.page = page;
    this.pictures = 0;
    page.stage.shown.reactions = false; // the session works them out when they are asked for
    page.player.ask = (request) => this.ask(request);
    const { live } = page.content;
    this.inputs = live.inputs.map((given, number) => this.addInput(given, number));
    this.options = this.addOptions(live);
    this.addParameters(live.parameters);
    this.addChannels(live.channels);
    byId("inputs-button").hidden = !live.settable;
    byId("channels-button").hidden = !live.channels.length;
    byId("inputs-button").addEventListener("click", () => open(byId("inputs"), byId("channels")));
    byId("channels-button").addEventListener("click", () => open(byId("channels"), byId("inputs")));
    this.addPull();
    page.curves.askFor = (window) => this.ask({ do: "window", window });
    page.curves.askSpectrum = (on) => this.ask({ do: "spectrum", on });
    restoreCamera(page);
    addEventListener("pagehide", () => keepCamera(page)); // the user loads the page anew
    this.connect();
  }

  // ---- messages ----

  connect() {
    this.socket = window.openSocket ? window.openSocket() : openWebSocket(); // a notebook has a way of its own
    this.socket.addEventListener("message", (event) => {
      if (typeof event.data === "string") this.read(JSON.parse(event.data));
      else this.show(event.data);
    });
    this.socket.addEventListener("open", () => {
      byId("told").hidden = true;
      const names = this.chosen();
      if (names.length) this.ask({ do: "subscribe", names });
      if (this.page.curves.window !== null) this.ask({ do: "window", window: this.page.curves.window });
      if (this.page.curves.spectral) this.ask({ do: "spectrum", on: true });
    });
    this.socket.addEventListener("close", () => {
      tell("the session is gone, or this page has lost it; looking for it", true);
      setTimeout(() => this.connect(), AGAIN);
    });
  }

  ask(request) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(request));
  }

  read({ messages, reload }) {
    if (reload) location.reload();
    for (const { kind, text } of messages ?? []) if (kind !== "log") tell(text, kind === "failure");
  }

  // One picture: a head in JSON, and numbers.
  show(data) {
    const { page } = this, { content, player, stage } = page;
    const size = new DataView(data).getUint32(0, true), head = JSON.parse(new TextDecoder().decode(data.slice(4, 4 + size)));
    const numbers = new Float32Array(data.slice(4 + size));
    let at = 0;
    const next = (count) => numbers.subarray(at, (at += count));
    take(content.r, next(content.r.length / 2));
    take(content.q, next(content.q.length / 2));
    Object.values(content.loose).forEach((places, k) => take(places, next(head.loose[k])));
    if (head.arrows && content.reactions) this.showReactions(head.arrows, next);
    if (head.curves) this.showCurves(head.curves, next);
    player.now = head;
    const slider = byId("time");
    Object.assign(slider, { min: player.first, max: player.last });
    this.head = head;
    this.pictures += 1;
    page.redraw();
  }

  // With a picture that is drawn: words change as seldom as it, and the session sends more where some have come through.
  drawn() {
    if (!this.head) return;
    this.showValues(this.head);
    this.showPull(this.head.grab);
    this.ask({ do: "drawn", picture: this.head.number });
    this.head = null;
  }

  showReactions([newtons, moment], next) {
    const { reactions } = this.page.content, { arrows } = this.page.stage;
    reactions.forces.set(next(reactions.forces.length));
    reactions.moments.set(next(reactions.moments.length));
    if (!arrows.chosen) Object.assign(arrows, { newtons, moment });
    this.scaled = true;
  }

  // Times come relative to the last one of a run, and values to a number of each channel, since a message has single
  // precision. Frequencies and amplitudes of every channel follow where they were asked for.
  showCurves({ channels, rows, last, ends, bases, panels, spectra }, next) {
    const { page } = this, times = [];
    rows.forEach((count, run) => {
      times.push(Float64Array.from(next(count), (past) => last[run] + past));
      channels.forEach((one, k) => {
        if (one.run === run) one.values = Float64Array.from(next(count), (value) => bases[k] + value);
      });
    });
    const lines = spectra.map((count) => [next(count).slice(), next(count).slice()]);
    const said = (given) => JSON.stringify(given.map(({ name, run, words }) => [name, run, words]));
    const anew = said(page.curves.content.channels) !== said(channels);
    page.curves.take(times, channels, ends, anew ? panels : undefined, lines);
    if (!anew) return;
    const names = new Set(channels.map(({ name }) => name)), titles = new Set(panels.channel.map(({ title }) => title));
    if (!this.chosen().length) for (const box of this.boxes) box.checked = names.has(box.value) || titles.has(box.value);
    byId("curves").hidden = false;
  }

  // What stands beside the name: how the session goes.
  showValues({ h, speed, actual, playing, p50, outcome, energy, violation, inputs, options }) {
    const number = (value, digits = 3) => (value === null ? "–" : String(Number(value.toPrecision(digits))));
    const going = playing ? `${number(actual)} of ${number(speed)} × real time` : "paused";
    byId("state").textContent = `${going}, h = ${number(1e3 * h)} ms, step ${number(1e3 * p50)} ms, energy ${number(energy)} J, `
      + `|Φ| ${number(violation)} m${outcome === "CONVERGED" ? "" : `, ${outcome.toLowerCase().replaceAll("_", " ")}`}`;
    inputs.forEach((values, k) => this.inputs[k].forEach((one, i) => one.take(values[i])));
    for (const [name, take] of Object.entries(this.options)) take(options[name]);
  }

  // ---- inputs and options ----

  addInput({ name, unit, value, ends }, number) {
    return value.map((_, i) => {
      const row = document.createElement("label"), slider = document.createElement("input"), field = document.createElement("input");
      Object.assign(slider, { type: "range", min: 0, max: NOTCHES, step: 1 });
      Object.assign(field, { type: "number", step: "any", title: unit });
      slider.setAttribute("aria-label", name);
      row.append(value.length > 1 ? `${name}[${"xyz"[i] ?? i}]` : name, slider, field, unit);
      byId("inputs").append(row);
      const set = (asked) => {
        const values = this.inputs[number].map((one) => Number(one.field.value));
        values[i] = asked;
        this.ask({ do: "input", name, value: values.length > 1 ? values : asked });
      };
      let [low, high] = ends[i], held = 0;
      slider.addEventListener("input", () => {
        const asked = low + ((high - low) * slider.value) / NOTCHES;
        field.value = Number(asked.toPrecision(4));
        held = performance.now();
        set(asked);
      });
      field.addEventListener("change", () => { if (field.value !== "") set(Number(field.value)); });
      const take = (now) => {
        if (performance.now() - held < 500 || document.activeElement === field) return; // what is set is on its way
        [low, high] = [Math.min(low, now), Math.max(high, now)];
        field.value = Number(now.toPrecision(6));
        slider.value = Math.round((NOTCHES * (now - low)) / (high - low));
      };
      return { field, take };
    });
  }

  // The step, and the options that are words.
  addOptions({ choices, words: titles, settable }) {
    const found = {};
    if (!settable) return found;
    const row = ([title, tip], field) => {
      const label = document.createElement("label");
      label.title = tip;
      label.append(title, field);
      byId("inputs").append(label);
    };
    const step = document.createElement("input");
    Object.assign(step, { type: "number", step: "any", min: 0 });
    step.addEventListener("change", () => this.ask({ do: "option", name: "h", value: Number(step.value) / 1000 }));
    row([`${titles.h[0]} [ms]`, titles.h[1]], step);
    found.h = (value) => { if (document.activeElement !== step) step.value = Number((1000 * value).toPrecision(6)); };
    for (const [name, words] of Object.entries(choices)) {
      const select = document.createElement("select");
      select.append(...words.map((word) => new Option(word)));
      select.addEventListener("change", () => this.ask({ do: "option", name, value: select.value }));
      row(titles[name], select);
      found[name] = (value) => { if (document.activeElement !== select && value !== null) select.value = value; };
    }
    return found;
  }

  // Parameters of the function of the mechanism, and the button that builds it with them.
  addParameters(parameters) {
    if (!parameters.length) return;
    const title = document.createElement("h3"), build = document.createElement("button");
    title.textContent = "Mechanism";
    Object.assign(build, { id: "build", textContent: "Build", title: "build the mechanism with these parameters" });
    byId("inputs").append(title);
    const values = parameters.map(({ name, value, whole, words, unit, tip }) => {
      const row = document.createElement("label"), field = document.createElement(words.length ? "select" : "input");
      const plain = typeof value === "boolean";
      row.title = tip;
      if (words.length) field.append(...words.map((word) => new Option(word)));
      else Object.assign(field, plain ? { type: "checkbox" } : { type: "number", step: whole ? 1 : "any" });
      if (plain) field.checked = value;
      else field.value = value;
      row.append(name, field, unit);
      byId("inputs").append(row);
      return [name, () => (plain ? field.checked : words.length ? field.value : field.value === "" ? value : Number(field.value))];
    });
    build.addEventListener("click", () => {
      this.ask({ do: "rebuild", parameters: Object.fromEntries(values.map(([name, now]) => [name, now()])) });
    });
    byId("inputs").append(build);
  }

  // ---- channels ----

  addChannels(channels) {
    const search = document.createElement("input"), list = document.createElement("div");
    Object.assign(search, { type: "search", placeholder: "channels that hold …" });
    this.boxes = channels.map(([name, words]) => {
      const label = document.createElement("label"), box = document.createElement("input");
      Object.assign(box, { type: "checkbox", value: name });
      label.append(box, ` ${name} ${words}`);
      box.addEventListener("change", () => {
        this.ask({ do: "subscribe", names: this.chosen() });
        if (!this.chosen().length) byId("curves").hidden = true;
      });
      list.append(label);
      return box;
    });
    search.addEventListener("input", () => {
      for (const box of this.boxes) box.parentElement.hidden = !box.checked && !box.value.includes(search.value);
    });
    byId("channels").append(search, list);
  }

  chosen() {
    return this.boxes.filter((box) => box.checked).map((box) => box.value);
  }

  // ---- pull ----

  // Ctrl and the left button pull a body, in the plane through its point that faces the eye. In pause, or with Shift,
  // they move it with the loops kept; what one press moves is undone together.
  addPull() {
    const { stage, content, player } = this.page, { canvas } = stage;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    let plane = null, sent = 0, held = null, gesture = Math.floor(Math.random() * 2 ** 40); // of this page alone
    const target = (event) => {
      const point = new THREE.Vector3();
      return stage.ray(...place(event)).ray.intersectPlane(plane, point) ? point.toArray() : null;
    };
    canvas.addEventListener("pointerdown", (event) => {
      const hit = event.ctrlKey && event.button === 0 && content.live.settable ? stage.pick(...place(event)) : null;
      if (!hit || hit.body < 1) return;
      event.stopImmediatePropagation();
      canvas.setPointerCapture(event.pointerId);
      plane = new THREE.Plane().setFromNormalAndCoplanarPoint(stage.direction().normalize(), hit.point);
      const body = content.bodies[hit.body], point = stage.local(hit.body, hit.point);
      held = event.shiftKey || !player.playing ? { do: "drag", body, point, gesture: (gesture += 1) } : null;
      this.ask({ ...(held ?? { do: "grab", body, point }), target: hit.point.toArray() });
    }, true);
    canvas.addEventListener("pointermove", (event) => {
      if (!plane) return;
      event.stopImmediatePropagation();
      if (performance.now() - sent < PULLS) return;
      sent = performance.now();
      const to = target(event);
      if (to) this.ask({ ...(held ?? { do: "move" }), target: to });
    }, true);
    const release = (event) => {
      if (!plane) return;
      event.stopImmediatePropagation();
      const to = held && target(event);
      plane = null;
      if (to) this.ask({ ...held, target: to });
      if (!held) this.ask({ do: "release" });
    };
    canvas.addEventListener("pointerup", release, true);
    canvas.addEventListener("pointercancel", release, true);
  }

  showPull(grab) {
    const hint = byId("hint"), { stage } = this.page;
    stage.setPull(grab);
    if (!grab && this.pulling) hint.hidden = true;
    this.pulling = Boolean(grab);
    if (!grab) return;
    const at = new THREE.Vector3(...grab.target).project(stage.camera);
    hint.hidden = false;
    hint.textContent = `${Number(grab.force.toPrecision(3))} N`;
    hint.style.left = `${((at.x + 1) / 2) * stage.canvas.clientWidth + 14}px`;
    hint.style.top = `${((1 - at.y) / 2) * stage.canvas.clientHeight + 12}px`;
  }
}

// Replace both pictures of a page by one; places that are missing have no size.
function take(both, one) {
  both.fill(0);
  both.set(one);
  both.copyWithin(both.length / 2, 0, both.length / 2);
}

// The way of a point as far as this page has seen it.
class LiveWay {
  constructor(scene) {
    this.t = [];
    this.places = new Float32Array(3 * TRAIL);
    const geometry = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(this.places, 3));
    this.past = this.whole = new THREE.Line(geometry, new THREE.LineBasicMaterial());
    this.past.frustumCulled = false;
    scene.add(this.past);
  }

  // Take the point at a time; one of an earlier time takes away later points.
  add(point, t) {
    while (this.t.length && this.t.at(-1) >= t) this.t.pop();
    if (this.t.length === TRAIL) {
      this.t.shift();
      this.places.copyWithin(0, 3);
    }
    point.toArray(this.places, 3 * this.t.length);
    this.t.push(t);
    this.past.geometry.setDrawRange(0, this.t.length);
    this.past.geometry.attributes.position.needsUpdate = true;
  }
}

// ---- the camera, over a page that is loaded anew ----

// The store of the tab; null in a frame that has none, as of some notebooks.
function store() {
  try {
    return window.sessionStorage;
  } catch {
    return null;
  }
}

function keepCamera({ stage }) {
  const { camera, controls, parallel, theme, held } = stage;
  store()?.setItem(KEPT, JSON.stringify({
    position: camera.position.toArray(), target: controls.target.toArray(), zoom: camera.zoom, parallel, theme, held,
    inputs: !byId("inputs").hidden,
  }));
}

function restoreCamera(page) {
  const kept = JSON.parse(store()?.getItem(KEPT) ?? "null"), { stage } = page;
  store()?.removeItem(KEPT);
  if (!kept) return;
  byId("inputs").hidden = !kept.inputs;
  stage.setParallel(kept.parallel);
  setTheme(page, kept.theme);
  if (kept.held) { // the user has chosen a direction at most: what is shown now is fitted along it
    page.content.view = kept.position.map((one, k) => one - kept.target[k]);
    return;
  }
  stage.camera.position.set(...kept.position);
  stage.controls.target.set(...kept.target);
  stage.camera.zoom = kept.zoom;
  stage.kept = true;
}
