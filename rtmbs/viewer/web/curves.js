"use strict";
// Plots below the picture: panels as the page says, one window of time for all. The wheel zooms the time, a drag moves
// it, a click goes to that time, a double click comes back to the window that follows. What shares a panel, units,
// colours, windows and spectra are decided in results/curves.py; content.plots, .panels, .channels, .spectra have them.

const LEFT = 62, RIGHT = 14, TOP = 6, BOTTOM = 20; // pixels around the curves
const PANELS_OPEN = 2; // at most that are open when the page begins
const HEIGHTS = { "small plots": 90, "medium plots": 130, "large plots": 260 };
const LAYOUTS = { "one plot a channel": "channel", "one plot a unit": "unit" };
const NEARER = 0.8, TAP = 4, DECADE_ROOM = 22; // factor of a notch; pixels of a click, and between decades
const TURN = 180 / Math.PI;

class Curves {
  constructor(content, home, seek) {
    const { time, frequency } = content.plots, window = content.live?.window ?? null;
    Object.assign(this, { content, home, seek, TIME: time, FREQUENCY: frequency, window, followed: window, before: null, at: null });
    Object.assign(this, { over: time, together: "channel", height: HEIGHTS["medium plots"], degrees: false, stretch: 1 });
    Object.assign(this, { askFor: () => {}, askSpectrum: () => {} });
    this.redraw = () => {};
    this.fill();
  }

  get empty() { return this.content.channels.length === 0; }
  get t() { return this.timesOf(0); }
  get spectral() { return this.over === this.FREQUENCY; }
  get overTime() { return this.over === this.TIME; }
  timesOf(run) { return this.content.curve_t?.[run] ?? []; }
  get span() { return this.spanOf(...this.ends, this.now ?? this.ends[1]); }

  // First and last time of the run; a live page has a part of it only.
  get ends() { return this.content.ends ?? [this.t[0] ?? 0, this.t[this.t.length - 1] ?? 0]; }

  // Replace times by run, and values; ``panels`` where the channels are others.
  take(times, channels, ends, panels, spectra = []) {
    Object.assign(this.content, { curve_t: times, channels, ends, spectra });
    if (!panels) return;
    this.content.panels = panels;
    this.fill();
  }

  // ---- what stands above and around the plots ----

  fill() {
    const bar = document.createElement("div"), room = document.createElement("div");
    bar.className = "bar";
    room.className = "room";
    const names = this.content.channels.filter((channel) => channel.over && channel.run === 0).map((channel) => channel.name);
    const known = [this.TIME, this.FREQUENCY, ...names];
    if (!known.includes(this.over)) this.over = this.TIME;
    bar.append(
      this.choice("over", known, this.over, (word) => {
        Object.assign(this, { over: word, stretch: 1 });
        this.askSpectrum(this.spectral);
        this.fill();
      }),
      this.choice("", [...this.content.plots.windows.map(([word]) => word), this.content.plots.chosen], this.windowWord(), (word) => {
        const found = this.content.plots.windows.find(([one]) => one === word);
        if (found) this.show(found[1]);
      }),
      this.choice("", Object.keys(LAYOUTS), Object.keys(LAYOUTS).find((word) => LAYOUTS[word] === this.together), (word) => {
        this.together = LAYOUTS[word];
        this.fill();
      }),
      this.choice("", Object.keys(HEIGHTS), Object.keys(HEIGHTS).find((word) => HEIGHTS[word] === this.height), (word) => {
        this.height = HEIGHTS[word];
        this.fill();
      }),
      this.degreesBox(),
      exportButton(this),
    );
    this.windowChoice = bar.querySelectorAll("select")[1];
    this.windowChoice.hidden = this.spectral && !this.content.live; // a recorded page has the spectra of the whole run
    this.panels = this.empty ? [] : this.content.panels[this.together].map((panel) => this.addPanel(this.withoutOver(panel), room));
    this.home.replaceChildren(bar, room);
    this.redraw();
  }

  choice(label, words, chosen, changed) {
    const own = document.createElement("label"), select = document.createElement("select");
    select.append(...words.map((word) => new Option(word, word, false, word === chosen)));
    select.addEventListener("change", () => { changed(select.value); select.blur(); });
    own.append(label, select);
    return own;
  }

  degreesBox() {
    const own = document.createElement("label"), box = document.createElement("input");
    Object.assign(box, { type: "checkbox", checked: this.degrees });
    box.addEventListener("change", () => { this.degrees = box.checked; this.fill(); });
    own.append(box, "degrees");
    own.hidden = !this.content.channels.some((channel) => this.turns(channel));
    return own;
  }

  addPanel(panel, room) {
    const frame = document.createElement("figure"), heading = document.createElement("figcaption"), canvas = document.createElement("canvas");
    canvas.style.height = `${this.height}px`;
    frame.append(heading, canvas);
    room.append(frame);
    const made = { ...panel, canvas, heading };
    this.listen(made);
    return made;
  }

  // A number over itself says nothing, and neither does one over a number that its run lacks.
  withoutOver(panel) {
    if (this.overTime || this.spectral) return panel;
    const others = panel.curves.filter(([number, , , run]) => this.overNumber(run) >= 0 && number !== this.overNumber(run));
    return others.length ? { ...panel, curves: others } : panel;
  }

  listen(panel) {
    const { canvas } = panel;
    let pressed = null;
    const place = (event) => {
      const box = canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pressed = { x: event.clientX, span: this.span, moved: false };
    });
    canvas.addEventListener("pointermove", (event) => {
      this.at = { panel, place: place(event) };
      if (pressed && this.overTime) {
        const pixels = event.clientX - pressed.x, [low, high] = pressed.span;
        pressed.moved ||= Math.abs(pixels) > TAP;
        if (pressed.moved) this.move(pressed.span, (-pixels * (high - low)) / (canvas.clientWidth - LEFT - RIGHT));
      }
      this.redraw();
    });
    canvas.addEventListener("pointerup", (event) => {
      if (pressed && !pressed.moved) this.goTo(panel, ...place(event));
      pressed = null;
    });
    canvas.addEventListener("pointerleave", () => { this.at = null; this.redraw(); });
    canvas.addEventListener("dblclick", () => (this.spectral ? this.reach(1) : this.show(this.followed)));
    canvas.addEventListener("wheel", (event) => {
      const [x] = place(event), factor = NEARER ** -Math.sign(event.deltaY);
      if (!(this.overTime || this.spectral) || x < LEFT) return; // beside the curves the wheel scrolls
      event.preventDefault();
      if (this.spectral) this.reach(this.stretch * factor);
      else this.zoom(this.timeAt(panel, x), factor);
    }, { passive: false });
  }

  // ---- windows of time: as span_of and zoomed of results/curves.py ----

  windowWord() {
    return this.content.plots.windows.find(([, window]) => window === this.window)?.[0] ?? this.content.plots.chosen;
  }

  spanOf(first, last, now) {
    const { window, before } = this;
    if (Array.isArray(window)) return window;
    if (window === null) return [first, last > first ? last : first + 1];
    let low = now - window;
    if (before && before[0] <= now && now <= before[1] && Math.abs(before[1] - before[0] - window) < 1e-9 * window) [low] = before;
    else if (before && now < before[0]) low = now - 0.5 * window;
    low = Math.max(Math.min(low, last - window), first);
    return [low, low + window];
  }

  show(window) {
    if (!Array.isArray(window)) Object.assign(this, { followed: window, before: null });
    this.window = window;
    this.before = this.span;
    if (this.windowChoice) this.windowChoice.value = this.windowWord();
    this.askFor(window);
    this.redraw();
  }

  zoom(mouse, factor) {
    const [first, last] = this.ends, span = this.span, at = Math.min(Math.max(mouse, first), last);
    const [low, high] = [at - factor * (at - span[0]), at + factor * (span[1] - at)];
    if (high - low < 1e-9 * Math.max(Math.abs(first), Math.abs(last), 1e-3) || high <= first || low >= last) return;
    this.show([Math.max(low, first), last > first ? Math.min(high, last) : high]);
  }

  // Let the axes of spectra reach so many times as far as they do by themselves.
  reach(stretch) {
    const ends = () => String(this.panels.map((panel) => this.frequencies(this.curvesOf(panel), this.least(panel))));
    const [kept, before] = [this.stretch, ends()];
    this.stretch = stretch;
    if (ends() === before) this.stretch = kept;
    this.redraw();
  }

  move([low, high], by) {
    const [first, last] = this.ends, kept = Math.min(Math.max(by, first - low), Math.max(last - high, 0));
    this.show([low + kept, high + kept]);
  }

  timeAt(panel, x) {
    const [low, high] = this.span;
    return low + ((x - LEFT) / (panel.canvas.clientWidth - LEFT - RIGHT)) * (high - low);
  }

  // Go to the time of a place; of a curve over another number to that of the nearest sample.
  goTo(panel, x, y) {
    if (this.spectral) return;
    if (this.overTime) {
      const [first, last] = this.ends;
      this.seek(Math.min(Math.max(this.timeAt(panel, x), first), last));
      return;
    }
    let [best, found] = [Infinity, null];
    for (const one of this.curvesOf(panel).filter(({ run }) => run === 0)) {
      for (let k = one.from; k < one.end; k++) {
        const away = Math.hypot(panel.x(one.x[k]) - x, panel.y(one.y[k]) - y);
        if (away < best) [best, found] = [away, this.t[k]];
      }
    }
    if (found !== null) this.seek(found);
  }

  // ---- numbers ----

  turns(channel) { return this.content.plots.degrees[channel.words] !== undefined; }

  turned(values, channel) {
    return this.degrees && this.turns(channel) ? values.map((value) => TURN * value) : values;
  }

  values(number) { return this.turned(this.content.channels[number].values, this.content.channels[number]); }
  unitOf(words) { return (this.degrees && this.content.plots.degrees[words]) || words; }

  overNumber(run = 0) {
    return this.content.channels.findIndex((channel) => channel.over && channel.name === this.over && channel.run === run);
  }

  across(run = 0) { return this.overTime ? this.timesOf(run) : this.values(this.overNumber(run)); }

  // What the plots are drawn over, with its unit.
  get overWords() {
    if (this.overTime) return "time [s]";
    if (this.spectral) return "frequency [Hz]";
    return `${this.over} ${this.unitOf(this.content.channels[this.overNumber()].words)}`.trim();
  }

  // Numbers of the curves of a panel, and which of their samples are seen.
  curvesOf(panel) {
    return panel.curves.map(([number, word, color, run, said]) => {
      const channel = this.content.channels[number], lines = this.content.spectra?.[number];
      if (this.spectral) {
        const [x, y] = lines ?? [[], []];
        return { word, color, run, said, x, y: this.turned(y, channel), from: 0, end: x.length };
      }
      const [from, end] = this.part(this.timesOf(run));
      return { word, color, run, said, x: this.across(run), y: this.values(number), from, end };
    });
  }

  // First sample in the span and the one after the last, with one more on each side.
  part(t = this.t) {
    const [low, high] = this.span;
    return [Math.max(bisect(t, low) - 1, 0), Math.min(bisect(t, high, true) + 1, t.length)];
  }

  // As value_range and log_range of results/curves.py.
  range(curves, name, log = false, least = 0) {
    const { margin, rounding, decade, log_margin: logMargin } = this.content.plots;
    let [low, high] = [Infinity, -Infinity];
    for (const { [name]: values, from, end } of curves) {
      for (let k = from; k < end; k++) {
        const value = log && !(values[k] > 0) ? NaN : values[k];
        if (value < low && value !== -Infinity) low = value;
        if (value > high && value !== Infinity) high = value;
      }
    }
    if (low > high) return log ? [-1, 0] : [0, 1];
    if (log) {
      [low, high] = [Math.log10(low), Math.log10(high)];
      const missing = Math.max(decade - (high - low), logMargin);
      return [low - 0.5 * missing, high + 0.5 * missing];
    }
    const largest = Math.max(Math.abs(low), Math.abs(high));
    const constant = largest > least ? 0.5 * largest : 1;
    const spare = high - low <= Math.max(rounding * largest, least) ? constant : margin * (high - low);
    return [low - spare, high + spare];
  }

  // As frequency_range of results/curves.py.
  frequencies(curves, least) {
    const { seen, beyond, fewest, tiniest } = this.content.plots.spectra, spectra = curves.filter(({ x }) => x.length);
    if (!spectra.length) return [0, 1];
    const largest = spectra.reduce((most, { y }) => y.reduce((one, value) => Math.max(one, value), most), 0);
    const level = Math.max(seen * largest, least, tiniest);
    const highest = ({ x, y }) => x.reduce((end, f, k) => (y[k] >= level ? f : end), 0);
    const ends = spectra.map((one) => Math.max(beyond * highest(one), one.x[Math.min(fewest, one.x.length) - 1]));
    const [first, last] = [0, -1].map((k) => Math.max(...spectra.map(({ x }) => x.at(k))));
    return [0, Math.min(Math.max(this.stretch * Math.max(...ends), first), last)];
  }

  // As Panel.least of results/curves.py: moments without a lever beside the forces of their channel are rounding.
  least(panel) {
    let force = 0;
    for (const { y, from, end } of this.curvesOf({ curves: panel.forces.map((number) => [number, "", 0, this.content.channels[number].run, ""]) })) {
      for (let k = from; k < end; k++) if (Math.abs(y[k]) > force && Number.isFinite(y[k])) force = Math.abs(y[k]);
    }
    return Math.max(panel.least, this.content.plots.no_lever * force);
  }

  offset(low, high) {
    const span = high - low;
    if (!(span > 0) || Math.max(Math.abs(low), Math.abs(high)) < this.content.plots.offset * span) return 0;
    const step = 10 ** (Math.ceil(Math.log10(span)) + 1);
    return Math.round((0.5 * (low + high)) / step) * step;
  }

  // ---- drawing ----

  draw(time, theme) {
    this.now = time;
    if (this.home.hidden || this.empty) return;
    this.before = this.span;
    this.panels.forEach((panel) => this.drawPanel(panel, time, this.content.themes[theme]));
  }

  drawPanel(panel, time, theme) {
    const { canvas } = panel, ratio = Math.min(window.devicePixelRatio || 1, 2), width = canvas.clientWidth, { height } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    }
    const pen = canvas.getContext("2d"), look = screenLook(theme, this.content.plots.dashes);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const box = { left: LEFT, top: TOP, right: width - RIGHT, low: height - BOTTOM };
    const drawn = this.paint(pen, panel, box, look);
    Object.assign(panel, { x: drawn.x, y: drawn.y });
    this.drawPresent(pen, drawn, time, box, theme);
    this.write(panel, drawn, time, theme);
  }

  // Draw axes and curves of a panel into a box of a pen; return its curves and where numbers are.
  paint(pen, panel, box, look) {
    const curves = this.curvesOf(panel), log = panel.log && !this.spectral;
    const least = this.least(panel), wideOf = () => (this.spectral ? this.frequencies(curves, least) : this.range(curves, "x"));
    let up = this.range(curves, "y", log, least), wide = this.overTime ? this.span : wideOf();
    if (!(this.overTime || this.spectral)) [wide, up] = this.oneScale(panel, wide, up, box.right - box.left, box.low - box.top);
    const x = (value) => box.left + ((value - wide[0]) / (wide[1] - wide[0])) * (box.right - box.left);
    const y = (value) => box.low - (((log ? Math.log10(value) : value) - up[0]) / (up[1] - up[0])) * (box.low - box.top);
    const offset = log ? 0 : this.offset(...up), right = this.overTime || this.spectral ? 0 : this.offset(...wide);
    const drawn = { curves, x, y, wide, up, offset, right, log };
    pen.font = look.font;
    drawAxes(pen, drawn, box, look);
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top - 2, box.right - box.left, box.low - box.top + 4);
    pen.clip();
    for (const one of curves) {
      const [ink, dashes] = look.pen(one.color, one.run);
      pen.strokeStyle = ink;
      pen.setLineDash(dashes);
      pen.lineWidth = look.width;
      this.drawCurve(pen, one, drawn, box.right - box.left);
    }
    pen.setLineDash([]);
    pen.restore();
    return drawn;
  }

  // Two lengths of like spans have one scale.
  oneScale(panel, wide, up, width, height) {
    const spans = [wide[1] - wide[0], up[1] - up[0]], { square } = this.content.plots;
    const both = panel.unit === "[m]" && this.content.channels[this.overNumber()].words === "[m]";
    if (!both || Math.max(...spans) > square * Math.min(...spans)) return [wide, up];
    const pixel = Math.max(spans[0] / width, spans[1] / height);
    const grown = ([low, high], size) => [(low + high - size) / 2, (low + high + size) / 2];
    return [grown(wide, pixel * width), grown(up, pixel * height)];
  }

  // Of many samples in one pixel the least and the greatest are drawn; a gap breaks the curve.
  drawCurve(pen, { x, y, from, end }, drawn, width) {
    const every = this.overTime ? Math.max(Math.floor((end - from) / (2 * width)), 1) : 1;
    pen.beginPath();
    let down = false;
    const to = (k) => {
      const known = Number.isFinite(y[k]) && Number.isFinite(x[k]) && (!drawn.log || y[k] > 0);
      if (known) pen[down ? "lineTo" : "moveTo"](drawn.x(x[k]), drawn.y(y[k]));
      down = known;
    };
    for (let first = from; first < end; first += every) {
      let [low, high, gap] = [-1, -1, -1];
      for (let k = first; k < Math.min(first + every, end); k++) {
        if (!Number.isFinite(y[k])) gap = gap < 0 ? k : gap;
        else {
          if (low < 0 || y[k] < y[low]) low = k;
          if (high < 0 || y[k] > y[high]) high = k;
        }
      }
      for (const k of [...new Set([low, high, gap])].filter((one) => one >= 0).sort((a, b) => a - b)) to(k);
    }
    pen.stroke();
  }

  drawPresent(pen, { curves, x, y }, time, { left, right, top, low }, theme) {
    if (this.spectral) return;
    pen.lineWidth = 1;
    if (this.overTime) {
      pen.strokeStyle = theme.text;
      if (x(time) >= left && x(time) <= right) line(pen, x(time), top, low);
      pen.strokeStyle = theme.muted;
      if (this.at) line(pen, this.at.place[0], top, low);
      return;
    }
    const k = this.nearest(time);
    for (const one of curves) {
      if (one.run !== 0 || !Number.isFinite(one.y[k])) continue;
      pen.fillStyle = theme.plots[one.color % theme.plots.length];
      pen.beginPath();
      pen.arc(x(one.x[k]), y(one.y[k]), this.content.plots.marked / 2 + 0.5, 0, 2 * Math.PI);
      pen.fill();
    }
  }

  nearest(time, t = this.t) {
    const k = Math.min(Math.max(bisect(t, time), 1), t.length - 1);
    return k > 0 && time - t[k - 1] < t[k] - time ? k - 1 : Math.max(k, 0);
  }

  // The heading: names in their colours with the values under the mouse, or at the present time.
  write(panel, { curves, x, wide, offset, right }, time, theme) {
    const words = panel.title ? [[panel.title, theme.text]] : [];
    const under = this.at ? this.at.place[0] : null, inside = under === null ? null : wide[0] + ((under - x(wide[0])) / (x(wide[1]) - x(wide[0]))) * (wide[1] - wide[0]);
    const place = (one) => {
      if (this.spectral) return inside === null ? -1 : this.nearest(inside, one.x);
      return this.nearest(this.overTime && inside !== null ? inside : time, this.timesOf(one.run));
    };
    for (const one of curves) {
      const dash = "- - ".repeat(Math.min(Math.floor(one.color / theme.plots.length) + one.run, 1));
      words.push([`${dash}${one.word} ${place(one) < 0 ? "" : shortened(one.y[place(one)])}`, theme.plots[one.color % theme.plots.length]]);
    }
    words.push([this.unitOf(panel.unit), theme.text]);
    if (panel.runs.length) words.push([panel.runs.map(([run, name]) => `${run ? "- - " : "\u2014 "}${name}`).join("   "), theme.muted]);
    if (offset) words.push([`axis counts from ${offset}`, theme.muted]);
    if (this.spectral) words.push([inside === null ? "over frequency [Hz]" : `at ${shortened(inside)} Hz`, theme.muted]);
    else if (!this.overTime) {
      words.push([`over ${this.overWords}${right ? `, which counts from ${right}` : ""}`, theme.muted]);
    } else if (this.at) words.push([`t ${shortened(this.t[this.nearest(inside)])} s`, theme.muted]);
    const said = JSON.stringify(words);
    if (panel.said === said) return;
    panel.said = said;
    panel.heading.replaceChildren(...words.filter(([text]) => text).map(([text, color]) => {
      const word = document.createElement("span");
      word.style.color = color;
      word.textContent = text;
      return word;
    }));
  }
}

// The first place whose time is not below ``time``; above it with ``after``.
function bisect(t, time, after = false) {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[middle] < time || (after && t[middle] === time)) low = middle + 1;
    else high = middle;
  }
  return low;
}

// About ``count`` round places between two numbers, with their texts: as tick_texts of results/curves.py.
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough)), places = [];
  const round = [1, 2, 5, 10].map((one) => one * power), inside = (one) => Math.floor(high / one) - Math.ceil(low / one) + 1;
  const wanted = round.find((one) => one >= rough * 0.999), step = inside(wanted) > 1 ? wanted : (round[round.indexOf(wanted) - 1] ?? 0.5 * power);
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) places.push(k * step);
  const largest = Math.max(...places.map(Math.abs), 0);
  if (largest === 0 || (largest >= 1e-4 && largest < 1e6)) {
    const digits = Math.min(Math.max(-Math.floor(Math.log10(step) + 1e-9), 0), 10);
    return { places, texts: places.map((place) => (Math.abs(place) < 1e-6 * step ? "0" : place.toFixed(digits))) };
  }
  return { places, texts: places.map((place) => (Math.abs(place) < 1e-6 * step ? "0" : String(Number(place.toPrecision(4)).toExponential()).replace("e+", "e"))) };
}

// The decades between two powers of ten that have room, as the window chooses them.
function decades(low, high, size) {
  const every = Math.max(1, Math.ceil(((high - low) * DECADE_ROOM) / Math.max(size, 1))), places = [];
  for (let power = Math.ceil(low / every) * every; power <= high; power += every) places.push(power);
  return { places, texts: places.map((power) => `1e${power}`) };
}

// Frame, grid and numbers of a panel.
function drawAxes(pen, { x, y, wide, up, offset, right, log }, { left, top, right: end, low }, look) {
  const at = (tick) => y(log ? 10 ** tick : tick + offset);
  const across = ticks(wide[0] - right, wide[1] - right, Math.max((end - left) / look.across, 2));
  const upward = log ? decades(...up, low - top) : ticks(up[0] - offset, up[1] - offset, Math.max((low - top) / look.upward, 2));
  pen.setLineDash([]);
  pen.lineWidth = look.hair;
  pen.strokeStyle = look.grid;
  pen.globalAlpha = look.faint;
  pen.beginPath();
  for (const tick of across.places) { pen.moveTo(x(tick + right), top); pen.lineTo(x(tick + right), low); }
  for (const tick of upward.places) { pen.moveTo(left, at(tick)); pen.lineTo(end, at(tick)); }
  pen.stroke();
  pen.globalAlpha = 1;
  pen.strokeStyle = look.frame;
  pen.strokeRect(left, top, end - left, low - top);
  pen.fillStyle = look.numbers;
  pen.textAlign = "center";
  across.places.forEach((tick, k) => {
    if (look.times === false) return;
    const half = pen.measureText(across.texts[k]).width / 2;
    pen.fillText(across.texts[k], Math.min(Math.max(x(tick + right), half), look.sheet ? look.sheet - half : end + RIGHT - half), low + look.letters + 3);
  });
  pen.textAlign = "right";
  upward.places.forEach((tick, k) => pen.fillText(upward.texts[k], left - 5, Math.max(at(tick) + 0.36 * look.letters, top + 0.7 * look.letters)));
}

// How plots look in a page.
function screenLook(theme, dashes) {
  const colors = theme.plots;
  return {
    font: "11px system-ui, sans-serif", letters: 11, width: 1.4, hair: 1, grid: theme.border, frame: theme.border, faint: 0.6,
    numbers: theme.muted, across: 90, upward: 26,
    pen: (color, run) => [colors[color % colors.length], dashes[(Math.floor(color / colors.length) + run) % dashes.length]],
  };
}

function line(pen, x, from, to) {
  pen.beginPath();
  pen.moveTo(x, from);
  pen.lineTo(x, to);
  pen.stroke();
}

function shortened(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
}
