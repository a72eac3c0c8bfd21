// From values to pixels: one table a layer, made from the design tokens, so that it follows the theme.
import { NO_DATA, SEVERAL, STALE, TOP } from "./heatmap-frame.js";

const RAMP = 10;
const LEAST_CELL_FOR_ROUND = 6;
const LEAST_CELL_FOR_ROUNDER = 13;

// part of the ramp that a byte stands for: temperatures start where cards idle, power ends at the card's limit
export const SPAN = {
  utilisation: (value) => value / TOP,
  memory: (value) => value / TOP,
  allocation: (value) => value / TOP,
  temperature: (value) => (value / 2 - 25) / 70,
  power: (value) => value / 200,
};

function parse(text) {
  const hex = text.trim().replace("#", "");
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

const pack = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0; // little-endian RGBA

export function readTokens(element) {
  const style = getComputedStyle(element);
  const colour = (name) => parse(style.getPropertyValue(name));
  return {
    ramp: Array.from({ length: RAMP }, (_, i) => colour(`--ramp-${i}`)),
    names: Object.fromEntries(["card", "line", "ink", "muted", "accent", "warn", "bad"].map((n) => [n, colour(`--${n}`)])),
    css: (name) => style.getPropertyValue(`--${name}`).trim(),
    dark: colour("--card").reduce((a, b) => a + b) < 384,
  };
}

function between(ramp, part) {
  const at = Math.max(0, Math.min(1, part)) * (ramp.length - 1);
  const [low, high] = [ramp[Math.floor(at)], ramp[Math.ceil(at)]];
  return low.map((value, i) => Math.round(value + (high[i] - value) * (at % 1)));
}

// {a, b}: two pixels per value; they differ where a cell is hatched
export function scaleTable(layer, tokens) {
  const a = new Uint32Array(256);
  for (let value = 0; value <= TOP; value++) a[value] = pack(between(tokens.ramp, SPAN[layer](value)));
  const b = a.slice();
  const { card, line, muted } = tokens.names;
  a[NO_DATA] = pack(line);
  b[NO_DATA] = pack(card);
  a[STALE] = pack(muted);
  b[STALE] = pack(card);
  return { a, b };
}

// hues a golden angle apart, in three lightnesses, so that neighbours in the table never look alike
export function tenantColour(row, dark) {
  const hue = (190 + row * 137.508) % 360;
  const lightness = (dark ? [62, 44, 76] : [42, 60, 28])[row % 3];
  return hsl(hue, dark ? 38 : 42, lightness);
}

function hsl(hue, saturation, lightness) {
  const [s, l] = [saturation / 100, lightness / 100];
  const channel = (n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}

export function tenantTable(rows, tokens) {
  const size = Math.max(rows + 2, 2);
  const a = new Uint32Array(65536);
  a[0] = pack(tokens.ramp[0]);
  for (let row = 0; row < size - 1; row++) a[row + 1] = pack(tenantColour(row, tokens.dark));
  const b = a.slice();
  a[SEVERAL] = pack(tokens.names.ink);
  b[SEVERAL] = pack(tokens.ramp[4]);
  return { a, b };
}

export const cssColour = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

// how many pixels each row of a cell is short of at both ends: rounded corners
export function corners(size) {
  const inset = new Uint8Array(size);
  if (size < LEAST_CELL_FOR_ROUND) return inset;
  inset[0] = inset[size - 1] = size >= LEAST_CELL_FOR_ROUNDER ? 2 : 1;
  if (size >= LEAST_CELL_FOR_ROUNDER) inset[1] = inset[size - 2] = 1;
  return inset;
}
