"use strict";
// Export of the plots as a figure of a stated size and style (.png, .svg), drawn in points. Sizes, styles, letters and
// dots are those of results/figure.py: content.plots.figure.

const POINT = 72 / 25.4; // points in a millimetre
const KINDS = { "Picture (.png)": "png", "Drawing (.svg)": "svg" };
const OWN_SIZE = "width x height", HANDLE = 22, GAP = 10; // points of the line before a name, and behind it

// A button with the choices of a figure behind it.
function exportButton(curves) {
  const { sizes, styles, least, most } = curves.content.plots.figure, own = document.createElement("span");
  const button = document.createElement("button"), choices = document.createElement("span");
  const kept = (curves.look ??= { size: "page", style: "white", kind: "png", width: 120, height: 80, open: false });
  button.textContent = "Export";
  button.title = "a figure of a stated size, of what is seen";
  own.className = choices.className = "export";
  choices.hidden = !kept.open;
  button.addEventListener("click", () => { kept.open = !kept.open; choices.hidden = !kept.open; });
  const numbers = ["width", "height"].map((name, k) => {
    const field = document.createElement("input");
    Object.assign(field, { type: "number", min: least, max: most, value: kept[name], title: `${name} [mm]` });
    field.setAttribute("aria-label", `${name} in mm`);
    field.addEventListener("change", () => { kept[name] = Math.min(Math.max(Number(field.value) || sizes.page[k], least), most); });
    return field;
  });
  const shown = Object.fromEntries([...Object.entries(sizes).map(([name, [width, height]]) => [`${name}, ${width} x ${height} mm`, name]), [OWN_SIZE, ""]]);
  const show = () => numbers.forEach((field, k) => {
    field.hidden = kept.size !== "";
    field.value = kept[["width", "height"][k]];
  });
  const said = (known, value) => Object.keys(known).find((word) => known[word] === value);
  const save = document.createElement("button");
  save.textContent = "Save";
  save.addEventListener("click", () => saveFigure(curves, kept).then((name) => tell(`saved: ${name}`), (error) => tell(error.message, true)));
  choices.append(
    curves.choice("size", Object.keys(shown), said(shown, kept.size), (word) => { kept.size = shown[word]; show(); }),
    ...numbers,
    curves.choice("style", Object.keys(styles), kept.style, (word) => { kept.style = word; }),
    curves.choice("", Object.keys(KINDS), said(KINDS, kept.kind), (word) => { kept.kind = KINDS[word]; }),
    save,
  );
  own.append(button, choices);
  show();
  return own;
}

async function saveFigure(curves, look) {
  const [file, name] = [await figureFile(curves, look), `plot.${look.kind}`], link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  return name;
}

// The file of a figure, as a Blob.
async function figureFile(curves, { size, style, kind, width, height }) {
  const { sizes, dots } = curves.content.plots.figure, [wide, high] = sizes[size] ?? [width, height];
  const canvas = document.createElement("canvas"), flat = canvas.getContext("2d");
  if (kind === "svg") {
    const pen = new SvgPen(wide * POINT, high * POINT, flat);
    drawFigure(curves, pen, style, wide * POINT, high * POINT);
    return new Blob([pen.text(wide, high)], { type: "image/svg+xml" });
  }
  Object.assign(canvas, { width: Math.round((wide / 25.4) * dots), height: Math.round((high / 25.4) * dots) });
  flat.scale(dots / 72, dots / 72);
  drawFigure(curves, flat, style, wide * POINT, high * POINT);
  return withDots(await new Promise((done) => canvas.toBlob(done, "image/png")), dots);
}

// All panels below another, with the names of their curves above each.
function drawFigure(curves, pen, style, width, height) {
  const look = figureLook(curves, style, width), panels = curves.panels, room = height / panels.length;
  pen.fillStyle = look.ground;
  pen.fillRect(0, 0, width, height);
  panels.forEach((panel, number) => {
    const lowest = number === panels.length - 1 || !curves.overTime, above = number * room;
    const one = { ...look, times: lowest }, alone = !curves.overTime && !curves.spectral && panel.curves.length === 1;
    const top = above + (alone ? 8 : drawNames(curves, pen, panel, above, width, look)) + 2;
    const box = { left: 54, top, right: width - 10, low: above + room - (lowest ? 28 : 6) };
    if (box.low - box.top < 10) throw new Error("the figure is too low for so many plots; choose a higher size");
    const drawn = curves.paint(pen, panel, box, one);
    pen.fillStyle = look.ink;
    pen.font = look.labels;
    pen.textAlign = "center";
    if (lowest) pen.fillText(counted(curves.overWords, drawn.right), (box.left + box.right) / 2, box.low + 23);
    const unit = curves.unitOf(panel.unit), label = alone ? `${panel.curves[0][1]} ${unit}` : panel.label.replace(panel.unit, unit);
    pen.save();
    pen.translate(11, (box.top + box.low) / 2);
    pen.rotate(-Math.PI / 2);
    pen.fillText(counted(label, drawn.offset), 0, 0);
    pen.restore();
  });
}

function counted(words, offset) {
  return offset ? `${words}, counts from ${offset}` : words;
}

// The names above a panel, each with its line, in as many rows as they need; return how high they are.
function drawNames(curves, pen, panel, above, width, look) {
  pen.font = look.font;
  let [x, y] = [54, above + look.letters + 4];
  for (const { color, run, said } of curves.curvesOf(panel)) {
    const long = HANDLE + GAP + pen.measureText(said).width;
    if (x > 54 && x + long > width - 10) [x, y] = [54, y + look.letters + 3];
    const [ink, dashes] = look.pen(color, run);
    pen.strokeStyle = ink;
    pen.lineWidth = look.width;
    pen.setLineDash(dashes);
    pen.beginPath();
    pen.moveTo(x, y - 0.35 * look.letters);
    pen.lineTo(x + HANDLE - 4, y - 0.35 * look.letters);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = look.ink;
    pen.textAlign = "left";
    pen.fillText(said, x + HANDLE, y);
    x += long;
  }
  return y - above + 3;
}

// Colours, letters and lines of a style; curves as pen of results/figure.py chooses them.
function figureLook(curves, style, sheet) {
  const { figure, dashes } = curves.content.plots, [ground, ink, grid] = figure.styles[style].map(rgb);
  const colors = curves.content.themes[style]?.plots, { grey, letters } = figure, family = "DejaVu Sans, Helvetica, sans-serif";
  const pen = style === "grey"
    ? (color, run) => [rgb(grey[(run + Math.floor(color / dashes.length)) % grey.length]), dashes[color % dashes.length]]
    : (color, run) => [colors[color % colors.length], dashes[(run + Math.floor(color / colors.length)) % dashes.length]];
  return {
    ground, ink, grid, sheet, pen, font: `${letters - 1}px ${family}`, labels: `${letters}px ${family}`, letters: letters - 1,
    width: 1, hair: 0.5, frame: ink, faint: 1, numbers: ink, across: 55, upward: 18,
  };
}

// A grey of matplotlib, "0.9", as a colour of a browser; others as they are.
function rgb(color) {
  const share = Number(color);
  return Number.isNaN(share) ? color : `rgb(${[1, 1, 1].map((one) => Math.round(255 * share * one)).join(", ")})`;
}
