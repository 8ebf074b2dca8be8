"use strict";
// A pen that writes SVG in place of pixels, as far as plots need one; and a PNG that knows its dots an inch.

class SvgPen {
  // width, height in points; measure: a 2d context that measures texts.
  constructor(width, height, measure) {
    Object.assign(this, { width, height, measure, parts: [], path: "", clips: 0, kept: [] });
    Object.assign(this, { strokeStyle: "#000", fillStyle: "#000", lineWidth: 1, globalAlpha: 1, textAlign: "left", dash: [] });
    Object.assign(this, { font: "8px sans-serif", region: "", around: "" });
  }

  save() { this.kept.push([this.region, this.around]); }
  restore() { [this.region, this.around] = this.kept.pop(); }
  translate(x, y) { this.around += `translate(${short(x)} ${short(y)}) `; }
  rotate(angle) { this.around += `rotate(${short((180 / Math.PI) * angle)}) `; }
  setLineDash(dash) { this.dash = dash; }
  beginPath() { this.path = ""; }
  moveTo(x, y) { this.path += `M${short(x)} ${short(y)}`; }
  lineTo(x, y) { this.path += `L${short(x)} ${short(y)}`; }
  rect(x, y, width, height) { this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}z`; }

  measureText(text) {
    this.measure.font = this.font;
    return this.measure.measureText(text);
  }

  clip() {
    this.clips += 1;
    this.parts.push(`<clipPath id="c${this.clips}"><path d="${this.path}"/></clipPath>`);
    this.region = ` clip-path="url(#c${this.clips})"`;
  }

  stroke() {
    const dash = this.dash.length ? ` stroke-dasharray="${this.dash.join(" ")}"` : "";
    const faint = this.globalAlpha < 1 ? ` stroke-opacity="${this.globalAlpha}"` : "";
    if (this.path) this.parts.push(`<path d="${this.path}" fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"${dash}${faint}${this.region}/>`);
  }

  strokeRect(...box) {
    this.beginPath();
    this.rect(...box);
    this.stroke();
  }

  fillRect(x, y, width, height) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${this.fillStyle}"/>`);
  }

  fillText(text, x, y) {
    const anchor = { left: "start", center: "middle", right: "end" }[this.textAlign], [size, ...family] = this.font.split(" ");
    const turned = this.around ? ` transform="${this.around.trim()}"` : "";
    const words = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" text-anchor="${anchor}" font-size="${parseFloat(size)}" font-family="${family.join(" ").replaceAll('"', "'")}" fill="${this.fillStyle}"${turned}>${words}</text>`);
  }

  // The file: width and height in mm.
  text(width, height) {
    const head = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}mm" height="${height}mm" viewBox="0 0 ${short(this.width)} ${short(this.height)}">`;
    return `${head}\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

function short(number) {
  return String(Number(number.toFixed(2)));
}

// A PNG with its dots an inch, so that programs show it in its size: a chunk pHYs behind the first one, IHDR.
async function withDots(png, dots) {
  const bytes = new Uint8Array(await png.arrayBuffer()), chunk = new Uint8Array(21), view = new DataView(chunk.buffer);
  const begin = 8 + 25, metre = Math.round(dots / 0.0254);
  view.setUint32(0, 9);
  chunk.set(new TextEncoder().encode("pHYs"), 4);
  view.setUint32(8, metre);
  view.setUint32(12, metre);
  chunk[16] = 1;
  view.setUint32(17, crc(chunk.subarray(4, 17)));
  return new Blob([bytes.subarray(0, begin), chunk, bytes.subarray(begin)], { type: "image/png" });
}

// The checksum of a chunk of a PNG.
function crc(bytes) {
  let sum = ~0;
  for (const byte of bytes) {
    sum ^= byte;
    for (let k = 0; k < 8; k++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
