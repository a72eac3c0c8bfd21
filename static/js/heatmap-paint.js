// Cells as pixels in one image, and the outlines that mark faults and drains on a canvas above it.
import { MARK } from "./heatmap-frame.js";
import { corners } from "./heatmap-colours.js";

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: true });
  }

  fit(grid, scale) {
    this.grid = grid;
    const [width, height] = [Math.max(1, Math.ceil(grid.width * scale)), Math.max(1, Math.ceil(grid.height * scale))];
    this.canvas.width = width;
    this.canvas.height = height;
    this.canvas.style.width = `${grid.width}px`;
    this.canvas.style.height = `${grid.height}px`;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.size = Math.max(1, Math.round(grid.cell * scale));
    this.inset = corners(this.size);
    this.start = new Int32Array(grid.x.length);
    for (let i = 0; i < grid.x.length; i++) {
      this.start[i] = grid.x[i] < 0 ? -1 : Math.round(grid.y[i] * scale) * width + Math.round(grid.x[i] * scale);
    }
  }

  // every cell
  all(values, table) {
    for (let i = 0; i < values.length; i++) this.cell(i, values[i], table);
    this.context.putImageData(this.image, 0, 0);
  }

  // only these devices
  some(indexes, values, table) {
    let [top, bottom] = [Infinity, -1];
    const width = this.canvas.width;
    for (let i = 0; i < indexes.length; i++) {
      const device = indexes[i];
      if (this.start[device] < 0) continue;
      this.cell(device, values[device], table);
      const row = (this.start[device] / width) | 0;
      if (row < top) top = row;
      if (row > bottom) bottom = row;
    }
    if (bottom < 0) return;
    this.context.putImageData(this.image, 0, 0, 0, top, width, bottom + this.size - top);
  }

  cell(device, value, table) {
    const start = this.start[device];
    if (start < 0) return;
    const { pixels, size, inset } = this;
    const width = this.canvas.width;
    const [a, b] = [table.a[value], table.b[value]];
    if (a === b) {
      for (let row = 0, at = start; row < size; row++, at += width) {
        for (let x = at + inset[row], end = at + size - inset[row]; x < end; x++) pixels[x] = a;
      }
      return;
    }
    for (let row = 0, at = start; row < size; row++, at += width) {
      for (let x = inset[row]; x < size - inset[row]; x++) pixels[at + x] = (x + row) % 4 < 2 ? a : b;
    }
  }
}

// Marks differ by shape, not by colour alone: fault solid with a cross, drain dashed, cordon dotted, unreachable
// struck through. Neighbours in a node with the same mark share one outline.
export function drawMarks(canvas, grid, marks, tokens, scale) {
  canvas.width = Math.max(1, Math.ceil(grid.width * scale));
  canvas.height = Math.max(1, Math.ceil((grid.height + 4) * scale));
  canvas.style.width = `${grid.width}px`;
  canvas.style.height = `${grid.height + 4}px`;
  if (!marks) return;
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const shown = MARK.fault | MARK.cordon | MARK.drain | MARK.unreachable;
  const { first, count } = grid.layout.nodes;
  for (const block of grid.blocks) {
    for (const [n] of block.spots) {
      for (let i = first[n]; i < first[n] + count[n]; ) {
        const mark = marks[i] & shown;
        let end = i + 1;
        while (end < first[n] + count[n] && (marks[end] & shown) === mark && grid.y[end] === grid.y[i]) end++;
        if (mark) drawRun(pen, grid, i, end, mark, tokens);
        i = end;
      }
    }
  }
}

function drawRun(pen, grid, from, end, mark, tokens) {
  const [x, y] = [grid.x[from] - 0.75, grid.y[from] - 0.75];
  const width = (end - from) * grid.pitch - grid.gap + 1.5;
  const height = grid.cell + 1.5;
  if (mark & MARK.unreachable) strike(pen, grid, from, end, tokens.css("muted"));
  if (mark & MARK.cordon) outline(pen, x, y, width, height, tokens.css("muted"), [1.2, 1.8]);
  if (mark & MARK.drain) outline(pen, x, y, width, height, tokens.css("warn"), [3, 2]);
  if (mark & MARK.fault) {
    outline(pen, x, y, width, height, tokens.css("bad"), []);
    for (let i = from; i < end; i++) cross(pen, grid, i, tokens.css("bad"));
  }
}

function outline(pen, x, y, width, height, colour, dash) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1.5;
  pen.setLineDash(dash);
  pen.beginPath();
  pen.roundRect(x, y, width, height, Math.min(3, height / 3));
  pen.stroke();
}

function cross(pen, grid, device, colour) {
  const reach = Math.min(3, grid.cell / 3);
  if (reach < 1.4) return;
  const [x, y] = [grid.x[device] + grid.cell / 2, grid.y[device] + grid.cell / 2];
  pen.strokeStyle = colour;
  pen.setLineDash([]);
  pen.beginPath();
  pen.moveTo(x - reach, y - reach);
  pen.lineTo(x + reach, y + reach);
  pen.moveTo(x + reach, y - reach);
  pen.lineTo(x - reach, y + reach);
  pen.stroke();
}

function strike(pen, grid, from, end, colour) {
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.beginPath();
  for (let i = from; i < end; i++) {
    pen.moveTo(grid.x[i], grid.y[i] + grid.cell);
    pen.lineTo(grid.x[i] + grid.cell, grid.y[i]);
  }
  pen.stroke();
}
