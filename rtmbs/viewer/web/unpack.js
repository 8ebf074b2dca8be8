"use strict";
// Numbers of a page: what pictures.py wrote. MISSING stands for a value that is not a number.

const MISSING = -(2 ** 31);
const TOO_OLD = "This browser cannot unpack the run. Chrome 80, Firefox 113, Safari 16.4 and later can.";

async function inflated(text) {
  if (typeof DecompressionStream === "undefined") throw new Error(TOO_OLD);
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function numbers(packed) {
  const bytes = await inflated(packed.data);
  return packed.quantum === undefined ? new Float32Array(bytes.buffer) : wholes(packed, bytes);
}

// The four bytes of a difference stand in four planes, the columns one after another, the sign folded into the last bit.
function wholes(packed, bytes) {
  const count = bytes.length / 4, rows = packed.shape[0], columns = count / rows, found = new Float64Array(count);
  for (let column = 0; column < columns; column++) {
    let whole = 0;
    for (let row = 0; row < rows; row++) {
      const at = column * rows + row;
      const folded = bytes[at] | (bytes[at + count] << 8) | (bytes[at + 2 * count] << 16) | (bytes[at + 3 * count] << 24);
      whole = (whole + ((folded >>> 1) ^ -(folded & 1))) | 0;
      found[row * columns + column] = whole === MISSING ? NaN : whole * packed.quantum;
    }
  }
  return found;
}

// Unpack everything of a page that is packed, in place.
async function unpacked(content) {
  const jobs = [];
  const take = (owner, name) => jobs.push(numbers(owner[name]).then((found) => { owner[name] = found; }));
  for (const name of ["t", "r", "q"]) take(content, name);
  for (const name of Object.keys(content.loose)) take(content.loose, name);
  for (const mesh of content.meshes.flatMap((one) => [one, ...(one.few ? [one.few] : [])])) { take(mesh, "vertices"); take(mesh, "normals"); }
  if (content.reactions) {
    for (const name of ["forces", "moments"]) take(content.reactions, name);
    for (const mesh of Object.values(content.reactions.meshes)) { take(mesh, "vertices"); take(mesh, "normals"); }
  }
  for (const run of Object.keys(content.curve_t ?? [])) take(content.curve_t, run);
  const based = [...content.channels, ...(content.spectra ?? []).flat()];
  for (const one of based) take(one, "values");
  for (const piece of content.pieces) {
    for (const theme of Object.keys(piece.colors)) take(piece.colors, theme);
    if (!piece.loose) take(piece, "places");
  }
  await Promise.all(jobs);
  for (const one of based) one.values = one.values.map((value) => one.base + value);
  content.spectra = content.spectra?.map((pair) => pair.map(({ values }) => values));
  return content;
}
