"use strict";
// Buttons, keys and mouse; the names of the actions are those of the window.

const TOLD = 2500; // [ms] that a sentence stands
const STILL = 4; // pixels that a press may move and be a click
const HEAVY = 1; // [s] of wall time that one picture counts at most: a page that was hidden does not jump

const byId = (name) => document.getElementById(name);

function begin(content) {
  const stage = new Stage(content, byId("scene"), byId("names"));
  let stale = true;
  const changed = () => { stale = true; };
  const player = content.live ? new LivePlayer(content, changed) : new Player(content, changed);
  const curves = new Curves(content, byId("curves"), (time) => (content.live ? player.goTo(time) : player.pause(time)));
  const page = { content, stage, player, curves, drawn: 0, redraw: () => { stale = true; } };
  curves.redraw = page.redraw;
  page.actions = actions(page);
  stage.controls.addEventListener("change", page.redraw);
  fill(page);
  listen(page);
  setTheme(page, content.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "white"));
  byId("legend").hidden = !content.legend;
  byId("reactions-button").hidden = !content.reactions;
  byId("curves").hidden = curves.empty || curves.panels.length > PANELS_OPEN;
  if (content.live) page.live = new Live(page);
  const fit = () => { stage.fit(new THREE.Vector3(...content.view)); page.redraw(); };
  let fitted = Boolean(stage.kept);
  new ResizeObserver(() => {
    if (fitted) stage.resize();
    else fit();
    fitted = true;
    page.redraw();
  }).observe(byId("view"));
  if (!fitted) fit();
  let before = performance.now(), shown = before;
  const turn = (now) => {
    player.advance(Math.min((now - before) / 1000, HEAVY));
    before = now;
    if (stale) {
      [stale, shown, stage.finer] = [false, now, 1];
      show(page);
    } else if (stage.corners && stage.finer === 1 && now - shown > STILL_AFTER) {
      stage.finer = FINER;
      show(page);
    }
    requestAnimationFrame(turn);
  };
  requestAnimationFrame(turn);
  if (content.playing) player.play();
  return page;
}

// Draw the present time.
function show(page) {
  const { stage, player, curves } = page;
  stage.show(player.picture, player.between, player.time);
  stage.resize();
  stage.draw();
  curves.draw(player.time, stage.theme);
  page.live?.drawn();
  page.drawn += 1;
  byId("time").value = player.place;
  drawLegend(page);
  byId("clock").textContent = `t = ${player.time.toFixed(page.digits)} s`;
  byId("play").innerHTML = player.playing ? "&#10074;&#10074;" : "&#9654;";
  byId("loop").setAttribute("aria-pressed", player.looping);
  const speed = byId("speed");
  if (Number(speed.value) !== player.speed) speed.value = String(player.speed);
  drawMarks(page);
}

// What the colours of the picture mean, in words.
function drawLegend({ stage, content }) {
  const home = byId("legend"), rows = content.meanings.filter((row) => stage.shown[row.part] && (row.part !== "reactions" || stage.arrows));
  const shown = rows.map((row) => [row.colors[stage.theme], row.words]);
  if (stage.shown.trails) for (const number of stage.ways.keys()) shown.push([stage.wayColor(number), `trail of ${content.points[number].name}`]);
  if (home.dataset.shown === JSON.stringify(shown)) return;
  home.dataset.shown = JSON.stringify(shown);
  home.replaceChildren(...shown.map(([color, words]) => {
    const row = document.createElement("div"), patch = document.createElement("span");
    patch.style.background = color || "transparent";
    row.append(patch, words);
    return row;
  }));
}

function drawMarks({ player }) {
  const marks = [...player.marks], home = byId("marks"), length = player.last - player.first || 1;
  if (home.dataset.shown === String(marks)) return;
  home.dataset.shown = String(marks);
  home.replaceChildren(...marks.map((mark) => {
    const line = document.createElement("i");
    line.style.left = `calc(8px + (100% - 16px) * ${(player.placeOf(mark) - player.first) / length})`;
    return line;
  }));
}

// What every action of the window does here.
function actions(page) {
  const { stage, player, content } = page;
  const look = (view) => () => stage.fit(new THREE.Vector3(...content.views[view]));
  const hideOrShow = (...parts) => () => parts.forEach((part) => { stage.shown[part] = !stage.shown[part]; });
  const nowhere = () => tell("no mark on that side; M marks a picture");
  return {
    play_or_pause: () => (player.playing ? player.pause() : player.play()),
    step_forward: () => player.step(1),
    step_back: () => player.step(-1),
    ten_forward: () => player.step(10),
    ten_back: () => player.step(-10),
    loop: () => { player.looping = !player.looping; },
    mark: () => player.mark(),
    mark_before: () => player.jump(-1) || nowhere(),
    mark_after: () => player.jump(1) || nowhere(),
    faster: () => player.faster(),
    slower: () => player.slower(),
    real_time: () => player.setSpeed(1),
    reset: () => player.reset(),
    fit: () => stage.fit(stage.direction()),
    look_isometric: look("isometric"),
    look_front: look("front"),
    look_side: look("side"),
    look_top: look("top"),
    parallel: () => { stage.setParallel(!stage.parallel); stage.fit(stage.direction()); },
    follow: () => follow(page),
    help: () => open(byId("help"), byId("points")),
    plots: () => {
      if (page.curves.empty) tell("this page holds no channels");
      else byId("curves").hidden = !byId("curves").hidden;
    },
    theme: () => setTheme(page, stage.theme === "white" ? "dark" : "white"),
    labels: () => { stage.labels = !stage.labels; },
    joints: hideOrShow("joints"),
    legend: () => { byId("legend").hidden = !byId("legend").hidden; },
    reactions: () => {
      if (!stage.arrows) return tell(noReactions(page));
      hideOrShow("reactions")();
      if (page.live) page.live.ask({ do: "reactions", on: stage.shown.reactions });
    },
    longer_arrows: () => scaleArrows(page, false),
    shorter_arrows: () => scaleArrows(page, true),
    marker_trails: () => markerTrails(page),
    forces: hideOrShow("springs", "forces"),
    grid: hideOrShow("grid", "axes"),
    trail: () => trail(page),
    undo: () => page.live?.ask({ do: "undo" }),
    redo: () => page.live?.ask({ do: "redo" }),
    choose_nothing: () => { byId("help").hidden = byId("points").hidden = true; stage.select(-1); },
  };
}

function follow({ stage, content }) {
  if (stage.followed > 0) {
    stage.followed = -1;
    tell("let go");
  } else if (stage.selected > 0) {
    stage.followed = stage.selected;
    tell(`following ${content.bodies[stage.selected]}`);
  } else tell("choose a body with a click first");
}

function trail(page) {
  const { stage, content } = page;
  const number = content.points.findIndex((point) => point.body === stage.selected && point.name === content.bodies[point.body]);
  if (stage.selected < 1 || number < 0) tell("choose a body with a click first");
  else toggleWay(page, number);
}

// Draw the ways of all markers, or none of them when all are drawn.
function markerTrails(page) {
  const markers = [...page.content.points.keys()].slice(0, page.content.markers), { ways } = page.stage;
  if (!markers.length) tell("the model has no markers that move");
  const all = markers.every((number) => ways.has(number));
  for (const number of markers) if (ways.has(number) === all) toggleWay(page, number);
}

function noReactions(page) {
  return page.live ? "there are no reactions here" : "this page holds no reactions; --reactions writes them";
}

function scaleArrows(page, up) {
  const { arrows } = page.stage;
  if (!arrows) return tell(noReactions(page));
  arrows.step(up);
  tell(arrows.sentence);
}

function toggleWay(page, number) {
  const on = page.stage.toggleWay(number);
  byId("points").querySelectorAll("input")[number].checked = on;
  page.redraw();
}

function setTheme(page, theme) {
  for (const [name, color] of Object.entries(page.content.themes[theme])) {
    if (typeof color === "string") document.documentElement.style.setProperty(`--${name}`, color);
  }
  document.documentElement.style.colorScheme = theme === "dark" ? "dark" : "light";
  page.stage.setTheme(theme);
  page.redraw();
}

function tell(text, bad = false) {
  const told = byId("told");
  told.textContent = text;
  told.classList.toggle("bad", bad);
  told.hidden = false;
  clearTimeout(tell.timer);
  if (!bad) tell.timer = setTimeout(() => { told.hidden = true; }, TOLD);
}

function open(panel, other) {
  other.hidden = true;
  panel.hidden = !panel.hidden;
}

// ---- what stands in the page ----

function fill(page) {
  const { content, player } = page;
  const facts = Object.entries(content.facts).filter(([label]) => label === "bodies" || label === "samples");
  byId("title").append(content.name, Object.assign(document.createElement("small"), {
    textContent: facts.map(([label, value]) => (value === "1" && label === "bodies" ? "1 body" : `${value} ${label}`)).join(", "),
  }));
  const slider = byId("time"), length = player.last - player.first;
  Object.assign(slider, { min: player.first, max: player.last, step: "any" });
  page.digits = content.live ? 3 : Math.min(Math.max(Math.ceil(2 - Math.log10(length || 1)), 2), 6);
  const speeds = [...new Set([...content.speeds, content.speed])].sort((a, b) => a - b);
  player.speeds = speeds;
  byId("speed").append(...speeds.map((speed) => new Option(`${speed} ×`, speed, false, speed === content.speed)));
  byId("points").append(...content.points.map((point, number) => {
    const label = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, { type: "checkbox", checked: page.stage.ways.has(number) });
    box.addEventListener("change", () => { page.stage.toggleWay(number); page.redraw(); });
    label.append(box, ` ${point.name}`);
    return label;
  }));
  const table = document.createElement("table");
  for (const [keys, text] of [...content.keys.map(([, shown, does]) => [shown, does]), ...content.mouse]) {
    const row = table.insertRow();
    row.insertCell().textContent = keys;
    row.insertCell().textContent = text;
  }
  byId("help").append(table);
}

function listen(page) {
  const { player, stage } = page;
  const call = (name) => { page.actions[name](); page.redraw(); };
  for (const button of document.querySelectorAll("[data-action]")) {
    button.addEventListener("click", () => { call(button.dataset.action); button.blur(); });
  }
  byId("points-button").addEventListener("click", () => open(byId("points"), byId("help")));
  byId("time").addEventListener("input", (event) => player.pause(Number(event.target.value)));
  byId("speed").addEventListener("change", (event) => { player.setSpeed(Number(event.target.value)); event.target.blur(); });
  const known = new Map(page.content.keys.flatMap(([keys, , , name]) => keys.map((key) => [key, name])));
  addEventListener("keydown", (event) => {
    const key = keyName(event), name = known.get(key);
    if (isTyped(event.target) && key === "Esc") event.target.blur(); // from now on keys are those of the page
    if (!name || isOwn(event.target, key)) return;
    event.preventDefault();
    call(name);
  });
  pointers(page, stage);
}

// True for a field that takes letters.
function isTyped(field) {
  return field instanceof HTMLInputElement && ["text", "search", "number"].includes(field.type);
}

// True for a key of a field: what is typed, and how a field works that Tab came to. A click leaves the keys to the page.
function isOwn(field, key) {
  if (isTyped(field) || field instanceof HTMLSelectElement) return true;
  const works = ["Space", "Left", "Right", "Home", "End"].includes(key);
  return works && field instanceof HTMLElement && field.matches("button:focus-visible, input:focus-visible");
}

// A key as Qt writes it.
function keyName(event) {
  if (event.metaKey || event.altKey) return "";
  const names = { " ": "Space", ArrowRight: "Right", ArrowLeft: "Left", Escape: "Esc" };
  const key = names[event.key] ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  const shift = event.shiftKey && /^([A-Z]|.{2,})$/.test(key) ? "Shift+" : ""; // signs are typed with Shift or without
  return `${event.ctrlKey ? "Ctrl+" : ""}${shift}${key}`;
}

function pointers(page, stage) {
  const canvas = stage.canvas, hint = byId("hint");
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let down = null;
  canvas.addEventListener("pointerdown", (event) => {
    const face = stage.shown.axes && event.button === 0 && !event.ctrlKey ? stage.names.cube.at(stage, ...place(event)) : null;
    if (!face) return;
    event.stopImmediatePropagation();
    stage.fit(face);
    page.redraw();
  }, true);
  canvas.addEventListener("pointerdown", (event) => { down = place(event); hint.hidden = true; });
  canvas.addEventListener("pointerup", (event) => {
    const [x, y] = place(event);
    if (down && event.button === 0 && Math.hypot(x - down[0], y - down[1]) <= STILL) {
      const hit = stage.pick(x, y);
      stage.select(hit ? hit.body : -1);
      if (hit) tell(page.content.bodies[hit.body]);
      page.redraw();
    }
    down = null;
  });
  canvas.addEventListener("dblclick", (event) => {
    const hit = stage.pick(...place(event));
    if (hit) stage.controls.target.copy(hit.point);
    page.redraw();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (event.pointerType !== "mouse" || event.buttons) return;
    const [x, y] = place(event), hit = stage.pick(x, y);
    hint.hidden = !hit;
    if (!hit) return;
    hint.textContent = page.content.bodies[hit.body];
    hint.style.left = `${x + 14}px`;
    hint.style.top = `${y + 12}px`;
  });
  canvas.addEventListener("pointerleave", () => { hint.hidden = true; });
}

// ---- the beginning ----

// window.rtmbs is the page once it stands, for programs that look at it.
(async () => {
  try {
    const library = document.createElement("script");
    library.textContent = `${new TextDecoder().decode(await inflated(THREE_TEXT))}\nwindow.THREE = THREE;`;
    document.head.append(library);
    window.rtmbs = begin(await unpacked(JSON.parse(byId("content").textContent)));
  } catch (error) {
    const webgl = /webgl/i.test(error.message);
    tell(webgl ? "This browser draws nothing: WebGL 2 is off or missing." : error.message, true);
    console.error(error);
  }
})();
