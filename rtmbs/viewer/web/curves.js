"use strict";
// Plotted channels over time: one panel a unit, a line at the present time. A press goes to that time.

const PANEL = 120, LEFT = 64, RIGHT = 12, TOP = 20, BOTTOM = 6; // pixels
const PANELS_OPEN = 2; // at most that are open when the page begins

class Curves {
  constructor(content, home, seek) {
    this.content = content;
    this.home = home;
    this.panels = [];
    for (const unit of new Set(content.channels.map((channel) => channel.unit))) {
      const canvas = document.createElement("canvas");
      canvas.style.height = `${PANEL}px`;
      const go = (event) => {
        const box = canvas.getBoundingClientRect();
        const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
        const { t } = content;
        seek(t[0] + Math.min(Math.max(share, 0), 1) * (t[t.length - 1] - t[0]));
      };
      canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); go(event); });
      canvas.addEventListener("pointermove", (event) => { if (event.buttons) go(event); });
      home.append(canvas);
      this.panels.push({ canvas, unit, channels: content.channels.filter((channel) => channel.unit === unit) });
    }
  }

  // Replace times and values of the same channels.
  take(t, channels) {
    Object.assign(this.content, { t, channels });
    for (const panel of this.panels) panel.channels = channels.filter((channel) => channel.unit === panel.unit);
  }

  get empty() {
    return this.panels.length === 0;
  }

  draw(time, k, theme) {
    if (this.home.hidden) return;
    for (const panel of this.panels) this.drawPanel(panel, time, k, this.content.themes[theme]);
  }

  drawPanel({ canvas, unit, channels }, time, k, theme) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2), width = canvas.clientWidth;
    if (canvas.width !== Math.round(width * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = PANEL * ratio;
    }
    const pen = canvas.getContext("2d"), { t } = this.content;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, PANEL);
    let [low, high] = [Infinity, -Infinity];
    for (const channel of channels) {
      for (const value of channel.values) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
    }
    if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 0.5 * (Math.abs(low) || 1), low + 0.5 * (Math.abs(low) || 1)] : [0, 1];
    const span = t[t.length - 1] - t[0] || 1;
    const x = (at) => LEFT + ((at - t[0]) / span) * (width - LEFT - RIGHT);
    const y = (value) => PANEL - BOTTOM - ((value - low) / (high - low)) * (PANEL - TOP - BOTTOM);
    pen.strokeStyle = theme.border;
    pen.strokeRect(LEFT, TOP, width - LEFT - RIGHT, PANEL - TOP - BOTTOM);
    pen.font = "11px system-ui, sans-serif";
    pen.fillStyle = theme.muted;
    pen.textAlign = "right";
    pen.fillText(shortened(high), LEFT - 5, TOP + 9);
    pen.fillText(shortened(low), LEFT - 5, PANEL - BOTTOM);
    pen.fillText(unit, LEFT - 5, (TOP + PANEL - BOTTOM) / 2 + 4);
    pen.textAlign = "left";
    let across = LEFT;
    channels.forEach((channel, number) => {
      pen.strokeStyle = pen.fillStyle = theme.plots[number % theme.plots.length];
      this.drawCurve(pen, channel.values, x, y, width);
      const label = `${channel.name}  ${shortened(channel.values[k])}`;
      if (across < width - 60) pen.fillText(label, across, 13);
      across += pen.measureText(label).width + 22;
    });
    pen.strokeStyle = theme.text;
    pen.beginPath();
    pen.moveTo(x(time), TOP);
    pen.lineTo(x(time), PANEL - BOTTOM);
    pen.stroke();
  }

  // Of many samples in one pixel the least and the greatest are drawn.
  drawCurve(pen, values, x, y, width) {
    const { t } = this.content, part = Math.max(Math.floor(t.length / (2 * width)), 1);
    pen.lineWidth = 1.4;
    pen.beginPath();
    let down = false;
    for (let first = 0; first < t.length; first += part) {
      let [low, high] = [first, first];
      for (let k = first; k < Math.min(first + part, t.length); k++) {
        if (values[k] < values[low]) low = k;
        if (values[k] > values[high]) high = k;
      }
      for (const k of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
        if (Number.isFinite(values[k])) pen[down ? "lineTo" : "moveTo"](x(t[k]), y(values[k]));
        down = Number.isFinite(values[k]);
      }
    }
    pen.stroke();
    pen.lineWidth = 1;
  }
}

function shortened(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(4))) : "–";
}
