// Reads the frames of pool/nodes/heatmap/codec.py and keeps the values they lead to. No DOM.
export const LAYERS = ["utilisation", "memory", "allocation", "temperature", "power", "tenant", "marks"];
export const TOP = 250;
export const STALE = 254;
export const NO_DATA = 255;
export const SEVERAL = 65535;
export const MARK = { fault: 1, cordon: 2, drain: 4, unreachable: 8, mig: 16 };

const HEADER = 32;
const SCHEMA = 1;

// devices: size of the layout, which decides how wide an index is. Null for bytes that are not a frame of ours.
export function decode(buffer, devices) {
  if (buffer.byteLength < HEADER) return null;
  const view = new DataView(buffer);
  if (view.getUint8(0) !== SCHEMA) return null;
  const [layer, kind, width] = [LAYERS[view.getUint8(1)], view.getUint8(2), view.getUint8(3)];
  const entries = view.getUint32(20, true);
  const frame = {
    layer,
    full: kind === 0,
    sequence: view.getUint32(4, true),
    base: view.getUint32(8, true),
    layout: view.getUint32(12, true),
    table: view.getUint32(16, true),
    time: view.getFloat64(24, true),
    indexes: null,
    values: null,
  };
  let at = HEADER;
  if (kind === 1) {
    const Index = devices <= 65536 ? Uint16Array : Uint32Array;
    if (at + entries * Index.BYTES_PER_ELEMENT > buffer.byteLength) return null;
    frame.indexes = new Index(buffer, at, entries);
    at += entries * Index.BYTES_PER_ELEMENT;
  }
  if (at + entries * width > buffer.byteLength) return null;
  frame.values = width === 2 ? new Uint16Array(buffer, at, entries) : new Uint8Array(buffer, at, entries);
  return frame;
}

// The values of each layer, and the sequence they stand at.
export class Store {
  constructor() {
    this.values = {};
    this.sequence = {};
  }

  forget(layer) {
    delete this.values[layer];
    delete this.sequence[layer];
  }

  clear() {
    this.values = {};
    this.sequence = {};
  }

  // "full" or "delta" when applied, "gap" when a full frame is needed, "old" when it says nothing new
  apply(frame) {
    const last = this.sequence[frame.layer];
    if (frame.full) {
      if (last !== undefined && frame.sequence < last) return "old";
      this.values[frame.layer] = frame.values.slice();
      this.sequence[frame.layer] = frame.sequence;
      return "full";
    }
    if (last !== undefined && frame.sequence <= last) return "old";
    if (last === undefined || frame.base !== last) return "gap";
    const values = this.values[frame.layer];
    for (let i = 0; i < frame.indexes.length; i++) values[frame.indexes[i]] = frame.values[i];
    this.sequence[frame.layer] = frame.sequence;
    return "delta";
  }
}
