"use strict";
// Plots below the picture: panels as the page says, one window of time for all. The wheel zooms the time, a drag moves
// it, a click goes to that time, a double click comes back to the window that follows. What shares a panel, units,
// colours and windows are decided in results/curves.py; content.plots, content.panels and content.channels have them.

const LEFT = 62, RIGHT = 14, TOP = 6, BOTTOM = 20; // pixels around the curves
const PANELS_OPEN = 2; // at most that are open when the page begins
const HEIGHTS = { "small plots": 90, "medium plots": 130, "large plots": 260 };
const LAYOUTS = { "one plot a channel": "channel", "one plot a unit": "unit" };
const TIME = "time", CHOSEN = "chosen", NEARER = 0.8, TAP = 4;
const TURN = 180 / Math.PI;

class Curves {
  constructor(content, home, seek) {
    Object.assign(this, { content, home, seek, window: null, followed: null, before: null, over: TIME, at: null });
    Object.assign(this, { together: "channel", height: HEIGHTS["medium plots"], degrees: false, askFor: () => {} });
    this.redraw = () => {};
    this.fill();
  }

  get empty() { return this.content.channels.length === 0; }
  get t() { return this.content.curve_t ?? []; }
  get span() { return this.spanOf(...this.ends, this.now ?? this.ends[1]); }

  // First and last time of the run; a live page has a part of it only.
  get ends() { return this.content.ends ?? [this.t[0] ?? 0, this.t[this.t.length - 1] ?? 0]; }

  // Replace times and values; ``panels`` where the channels are others.
  take(t, channels, ends, panels) {
    Object.assign(this.content, { curve_t: t, channels, ends });
    if (!panels) return;
    this.content.panels = panels;
    this.fill();
  }

  // ---- what stands above and around the plots ----

  fill() {
    const bar = document.createElement("div"), room = document.createElement("div");
    bar.className = "bar";
    room.className = "room";
    const names = this.content.channels.map((channel) => channel.name);
    if (![TIME, ...names].includes(this.over)) this.over = TIME;
    bar.append(
      this.choice("over", [TIME, ...names], this.over, (word) => { this.over = word; this.fill(); }),
      this.choice("", [...this.content.plots.windows.map(([word]) => word), CHOSEN], this.windowWord(), (word) => {
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
    );
    this.windowChoice = bar.querySelectorAll("select")[1];
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

  // A number over itself says nothing.
  withoutOver(panel) {
    const others = panel.curves.filter(([number]) => number !== this.overNumber());
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
      if (pressed && this.over === TIME) {
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
    canvas.addEventListener("dblclick", () => this.show(this.followed));
    canvas.addEventListener("wheel", (event) => {
      const [x] = place(event);
      if (this.over !== TIME || x < LEFT) return; // beside the curves the wheel scrolls
      event.preventDefault();
      this.zoom(this.timeAt(panel, x), NEARER ** -Math.sign(event.deltaY));
    }, { passive: false });
  }

  // ---- windows of time: as span_of and zoomed of results/curves.py ----

  windowWord() {
    return this.content.plots.windows.find(([, window]) => window === this.window)?.[0] ?? CHOSEN;
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

  zoom(at, factor) {
    const [first, last] = this.ends, span = this.span;
    const [low, high] = [at - factor * (at - span[0]), at + factor * (span[1] - at)];
    if (high - low < 1e-9 * Math.max(Math.abs(first), Math.abs(last), 1e-3) || high <= first || low >= last) return;
    this.show([Math.max(low, first), last > first ? Math.min(high, last) : high]);
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
    if (this.over === TIME) {
      const [first, last] = this.ends;
      this.seek(Math.min(Math.max(this.timeAt(panel, x), first), last));
      return;
    }
    let [best, found] = [Infinity, null];
    const [from, end] = this.part();
    for (const [number] of panel.curves) {
      const values = this.values(number), across = this.across();
      for (let k = from; k < end; k++) {
        const away = Math.hypot(panel.x(across[k]) - x, panel.y(values[k]) - y);
        if (away < best) [best, found] = [away, this.t[k]];
      }
    }
    if (found !== null) this.seek(found);
  }

  // ---- numbers ----

  turns(channel) { return this.content.plots.degrees[channel.words] !== undefined; }

  values(number) {
    const channel = this.content.channels[number];
    return this.degrees && this.turns(channel) ? channel.values.map((value) => TURN * value) : channel.values;
  }

  unitOf(words) { return (this.degrees && this.content.plots.degrees[words]) || words; }
  overNumber() { return this.content.channels.findIndex((channel) => channel.name === this.over); }
  across() { return this.over === TIME ? this.t : this.values(this.overNumber()); }

  // First sample in the span and the one after the last, with one more on each side.
  part() {
    const { t } = this, [low, high] = this.span;
    return [Math.max(bisect(t, low) - 1, 0), Math.min(bisect(t, high, true) + 1, t.length)];
  }

  range(columns, from, end) {
    const { margin, rounding } = this.content.plots;
    let [low, high] = [Infinity, -Infinity];
    for (const values of columns) {
      for (let k = from; k < end; k++) {
        if (values[k] < low && values[k] !== -Infinity) low = values[k];
        if (values[k] > high && values[k] !== Infinity) high = values[k];
      }
    }
    if (low > high) return [0, 1];
    const largest = Math.max(Math.abs(low), Math.abs(high));
    const spare = high - low <= rounding * largest ? 0.5 * largest || 1 : margin * (high - low);
    return [low - spare, high + spare];
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
    const [from, end] = this.part();
    this.panels.forEach((panel) => this.drawPanel(panel, time, from, end, this.content.themes[theme]));
  }

  drawPanel(panel, time, from, end, theme) {
    const { canvas } = panel, ratio = Math.min(window.devicePixelRatio || 1, 2), width = canvas.clientWidth, { height } = this;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      Object.assign(canvas, { width: Math.round(width * ratio), height: Math.round(height * ratio) });
    }
    const pen = canvas.getContext("2d"), across = this.across(), columns = panel.curves.map(([number]) => this.values(number));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    let up = this.range(columns, from, end), wide = this.over === TIME ? this.span : this.range([across], from, end);
    const [inner, low] = [width - LEFT - RIGHT, height - BOTTOM];
    if (this.over !== TIME) [wide, up] = this.oneScale(panel, wide, up, inner, low - TOP);
    panel.x = (value) => LEFT + ((value - wide[0]) / (wide[1] - wide[0])) * inner;
    panel.y = (value) => low - ((value - up[0]) / (up[1] - up[0])) * (low - TOP);
    const offset = this.offset(...up), right = this.over === TIME ? 0 : this.offset(...wide);
    pen.font = "11px system-ui, sans-serif";
    this.drawAxes(pen, panel, { wide, up, offset, right, width, low }, theme);
    pen.save();
    pen.beginPath();
    pen.rect(LEFT, TOP - 2, inner, low - TOP + 4);
    pen.clip();
    panel.curves.forEach(([, , color], k) => {
      pen.strokeStyle = pen.fillStyle = theme.plots[color % theme.plots.length];
      pen.setLineDash(this.content.plots.dashes[Math.floor(color / theme.plots.length) % this.content.plots.dashes.length]);
      this.drawCurve(pen, across, columns[k], panel, from, end, inner);
    });
    pen.setLineDash([]);
    this.drawPresent(pen, panel, across, columns, time, low, theme);
    pen.restore();
    this.write(panel, columns, across, offset, right, time, theme);
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

  drawAxes(pen, panel, { wide, up, offset, right, width, low }, theme) {
    pen.strokeStyle = theme.border;
    pen.fillStyle = theme.muted;
    pen.lineWidth = 1;
    pen.strokeRect(LEFT, TOP, width - LEFT - RIGHT, low - TOP);
    pen.globalAlpha = 0.6;
    const across = ticks(wide[0] - right, wide[1] - right, Math.max((width - LEFT - RIGHT) / 90, 2));
    const upward = ticks(up[0] - offset, up[1] - offset, Math.max((low - TOP) / 26, 2));
    pen.beginPath();
    for (const tick of across.places) { pen.moveTo(panel.x(tick + right), TOP); pen.lineTo(panel.x(tick + right), low); }
    for (const tick of upward.places) { pen.moveTo(LEFT, panel.y(tick + offset)); pen.lineTo(width - RIGHT, panel.y(tick + offset)); }
    pen.stroke();
    pen.globalAlpha = 1;
    pen.textAlign = "center";
    across.places.forEach((tick, k) => {
      const half = pen.measureText(across.texts[k]).width / 2, x = panel.x(tick + right);
      pen.fillText(across.texts[k], Math.min(Math.max(x, half), width - half), low + 14);
    });
    pen.textAlign = "right";
    upward.places.forEach((tick, k) => pen.fillText(upward.texts[k], LEFT - 5, Math.max(panel.y(tick + offset) + 4, TOP + 8)));
  }

  // Of many samples in one pixel the least and the greatest are drawn; a gap breaks the curve.
  drawCurve(pen, across, values, panel, from, end, width) {
    const every = this.over === TIME ? Math.max(Math.floor((end - from) / (2 * width)), 1) : 1;
    pen.lineWidth = 1.4;
    pen.beginPath();
    let down = false;
    const to = (k) => {
      const known = Number.isFinite(values[k]) && Number.isFinite(across[k]);
      if (known) pen[down ? "lineTo" : "moveTo"](panel.x(across[k]), panel.y(values[k]));
      down = known;
    };
    for (let first = from; first < end; first += every) {
      let [low, high, gap] = [-1, -1, -1];
      for (let k = first; k < Math.min(first + every, end); k++) {
        if (!Number.isFinite(values[k])) gap = gap < 0 ? k : gap;
        else {
          if (low < 0 || values[k] < values[low]) low = k;
          if (high < 0 || values[k] > values[high]) high = k;
        }
      }
      for (const k of [...new Set([low, high, gap])].filter((one) => one >= 0).sort((a, b) => a - b)) to(k);
    }
    pen.stroke();
  }

  drawPresent(pen, panel, across, columns, time, low, theme) {
    pen.lineWidth = 1;
    if (this.over === TIME) {
      pen.strokeStyle = theme.text;
      line(pen, panel.x(time), TOP, low);
      pen.strokeStyle = theme.muted;
      if (this.at) line(pen, this.at.place[0], TOP, low);
      return;
    }
    const k = this.nearest(time);
    panel.curves.forEach(([, , color], number) => {
      if (!Number.isFinite(columns[number][k])) return;
      pen.fillStyle = theme.plots[color % theme.plots.length];
      pen.beginPath();
      pen.arc(panel.x(across[k]), panel.y(columns[number][k]), this.content.plots.marked / 2 + 0.5, 0, 2 * Math.PI);
      pen.fill();
    });
  }

  nearest(time) {
    const { t } = this, k = Math.min(Math.max(bisect(t, time), 1), t.length - 1);
    return k > 0 && time - t[k - 1] < t[k] - time ? k - 1 : Math.max(k, 0);
  }

  // The heading: names in their colours with the values under the mouse, or at the present time.
  write(panel, columns, across, offset, right, time, theme) {
    const k = this.nearest(this.at && this.over === TIME ? this.timeAt(panel, this.at.place[0]) : time);
    const words = panel.title ? [[panel.title, theme.text]] : [];
    panel.curves.forEach(([, name, color], number) => {
      const dash = "- - ".repeat(Math.min(Math.floor(color / theme.plots.length), 1));
      words.push([`${dash}${name} ${shortened(columns[number][k])}`, theme.plots[color % theme.plots.length]]);
    });
    words.push([this.unitOf(panel.unit), theme.text]);
    if (offset) words.push([`axis counts from ${offset}`, theme.muted]);
    if (this.over !== TIME) {
      const unit = this.unitOf(this.content.channels[this.overNumber()].words);
      words.push([`over ${this.over} ${shortened(across[k])} ${unit}${right ? `, which counts from ${right}` : ""}`, theme.muted]);
    } else if (this.at) words.push([`t ${shortened(this.t[k])} s`, theme.muted]);
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

function line(pen, x, from, to) {
  pen.beginPath();
  pen.moveTo(x, from);
  pen.lineTo(x, to);
  pen.stroke();
}

function shortened(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
}
