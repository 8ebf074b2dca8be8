"use strict";
// What is written over the picture: names of bodies and axes, a scale bar, what the length of an arrow means.

const WIDE = 140, INSET = 14, LINE = 18, TICK = 4, OUT = 1.12; // pixels, as in the window; the last in lengths of an axis
const UNITS = [[1, "m", 1], [0.01, "cm", 1e2], [0.001, "mm", 1e3], [0, "µm", 1e6]];

class Names {
  constructor(canvas, content) {
    this.canvas = canvas;
    this.content = content;
    this.cube = new ViewCube(content.cube);
  }

  // Draw it where something has changed: a browser lays every new drawing over the whole picture.
  draw(stage) {
    this.told = stage.arrows && stage.shown.reactions ? stage.arrows.sentence : "";
    const { camera, shown } = stage, matrices = [camera.matrixWorld, camera.projectionMatrix].map(({ elements }) => elements);
    const now = String([stage.sized, stage.theme, stage.parallel, shown.axes, shown.grid, this.told, ...matrices]);
    if (!stage.labels && now === this.drawn) return;
    this.drawn = stage.labels ? "" : now;
    const pen = this.canvas.getContext("2d"), [width, height] = [stage.canvas.clientWidth, stage.canvas.clientHeight];
    const ratio = this.canvas.width / Math.max(width, 1), colors = this.content.themes[stage.theme];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    const seen = (point) => {
      const at = point.clone().project(stage.camera);
      return at.z > 1 ? null : [((at.x + 1) / 2) * width, ((1 - at.y) / 2) * height];
    };
    if (stage.shown.axes) {
      this.drawAxes(pen, seen);
      this.cube.draw(pen, stage, width, height, colors, this.content.axes.colors);
      pen.font = "12px system-ui, sans-serif";
    }
    let bottom = height - INSET;
    pen.fillStyle = pen.strokeStyle = colors.muted;
    pen.textAlign = "right";
    if (stage.shown.grid) {
      this.drawScale(pen, stage, width - INSET, bottom);
      bottom -= LINE + TICK;
    }
    pen.fillText(this.told, width - INSET, bottom - 5);
    pen.textAlign = "left";
    if (stage.labels) this.drawBodies(pen, stage, seen, colors.text);
  }

  drawAxes(pen, seen) {
    const { tips, colors } = this.content.axes;
    pen.textAlign = "center";
    tips.forEach((tip, number) => {
      const at = seen(new THREE.Vector3(...tip).multiplyScalar(OUT));
      pen.fillStyle = colors[number];
      if (at) pen.fillText("xyz"[number], at[0], at[1] + 4);
    });
  }

  // A bar of a round length; in perspective it holds at the depth of the middle.
  drawScale(pen, stage, right, bottom) {
    const high = (stage.orthographic.top - stage.orthographic.bottom) / (stage.parallel ? stage.orthographic.zoom : 1);
    const metres = high / Math.max(stage.canvas.clientHeight, 1), most = WIDE * metres;
    const power = 10 ** Math.floor(Math.log10(most) + 1e-9);
    this.bar = [5, 2, 1].find((factor) => factor * power <= most * (1 + 1e-9)) * power;
    const left = right - this.bar / metres, [, unit, factor] = UNITS.find(([least]) => this.bar >= least * (1 - 1e-9));
    pen.lineWidth = 1.5;
    pen.beginPath();
    for (const [x, y, toX, toY] of [[left, 0, right, 0], [left, -TICK, left, TICK], [right, -TICK, right, TICK]]) {
      pen.moveTo(x, bottom + y);
      pen.lineTo(toX, bottom + toY);
    }
    pen.stroke();
    pen.fillText(`${Number((factor * this.bar).toPrecision(6))} ${unit}`, right, bottom - 6);
  }

  drawBodies(pen, stage, seen, color) {
    pen.fillStyle = color;
    const taken = [];
    for (let body = 1; body < this.content.bodies.length; body++) {
      const at = seen(stage.center(body));
      if (!at) continue;
      const [x, y] = [at[0] + 7, at[1] - 5];
      if (taken.some(([a, b]) => Math.abs(a - x) < 40 && Math.abs(b - y) < 13)) continue;
      taken.push([x, y]);
      pen.fillText(this.content.bodies[body], x, y);
    }
  }
}
