// Where each device is drawn: sites one below the other, in each the racks (or switches, or models) as blocks of
// node rows. All in CSS pixels, whole numbers. No DOM.
const SITE_HEAD = 26;
const BLOCK_HEAD = 18;
const LEAST_FOR_ONE_ROW = 9; // pixels of a cell and its gap
const BLOCK_GAP = 10;
const DENSE_GAP = 4;
const LEAST_FOR_NAMES = 4; // below, a rack is narrower than its name: the tip and the zoom tell it
const EDGE = 2; // room for the outline of a cell at the left
const SITE_GAP = 12;
const WIDEST_NODE = 16; // devices in one row of a node
const RACK_ROWS = 16; // a group of more nodes is folded into columns

// layout: the JSON of layout.json. options: {width, height, group: rack|switch|model, path: [site, group, node],
// ungrouped: label}. Path entries narrow what is shown. Returns a Grid.
export function arrange(layout, options) {
  const sites = collect(layout, options);
  const devices = sites.reduce((sum, site) => sum + site.devices, 0);
  const largest = options.path.length >= 3 ? 44 : options.path.length === 2 ? 30 : 22;
  const smallest = devices > 30000 ? 2 : devices > 15000 ? 3 : 5;
  let fitting = null;
  for (let pitch = largest; pitch >= smallest; pitch--) {
    const grid = place(layout, sites, pitch, options.width);
    const fits = grid.height <= options.height && grid.fits;
    fitting ??= fits || pitch === smallest ? grid : null;
    // a site in one row is read most easily: somewhat smaller cells are worth it
    if (fits && grid.oneRow && pitch >= Math.min(LEAST_FOR_ONE_ROW, fitting.pitch)) return grid;
    if (pitch < LEAST_FOR_ONE_ROW && fitting) return fitting;
  }
  return fitting;
}

function collect(layout, { group, path, ungrouped }) {
  const { nodes, sites } = layout;
  const names = { rack: layout.racks, switch: layout.switches, model: layout.models }[group];
  const found = new Map();
  for (let n = 0; n < nodes.name.length; n++) {
    const key = names[nodes[group][n]]?.name ?? "";
    if (path.length > 0 && nodes.site[n] !== path[0]) continue;
    if (path.length > 1 && key !== path[1]) continue;
    if (path.length > 2 && n !== path[2]) continue;
    if (nodes.count[n] === 0) continue;
    if (!found.has(nodes.site[n])) found.set(nodes.site[n], { site: nodes.site[n], devices: 0, groups: new Map() });
    const site = found.get(nodes.site[n]);
    if (!site.groups.has(key)) site.groups.set(key, { key, label: key || ungrouped, nodes: [], widest: 1 });
    const into = site.groups.get(key);
    into.nodes.push(n);
    into.widest = Math.max(into.widest, Math.min(WIDEST_NODE, nodes.count[n]));
    site.devices += nodes.count[n];
  }
  return [...found.values()].map((site) => ({ ...site, name: sites[site.site].name }));
}

function place(layout, sites, pitch, width) {
  const grid = new Grid(layout, pitch);
  const [head, gap] = grid.named ? [BLOCK_HEAD, BLOCK_GAP] : [0, DENSE_GAP];
  let y = 0;
  for (const site of sites) {
    grid.sections.push({ site: site.site, name: site.name, devices: site.devices, y });
    y += SITE_HEAD;
    let x = EDGE;
    let band = 0;
    for (const group of site.groups.values()) {
      const block = shape(layout, group, pitch, width);
      if (x > EDGE && x + block.width > width) {
        x = EDGE;
        y += band + gap;
        band = 0;
        grid.oneRow = false;
      }
      grid.add({ ...block, site: site.site, key: group.key, label: group.label, x, y: y + head });
      if (block.width > width - EDGE) grid.fits = false;
      x += block.width + gap;
      band = Math.max(band, block.height + head);
    }
    y += band + SITE_GAP;
  }
  grid.height = Math.max(0, y - SITE_GAP);
  grid.width = width;
  return grid;
}

// One block: node rows top down, folded into columns when there are many or nodes are wide.
function shape(layout, group, pitch, width) {
  const rowsOf = (n) => Math.ceil(layout.nodes.count[n] / WIDEST_NODE);
  const lines = group.nodes.reduce((sum, n) => sum + rowsOf(n), 0);
  const apart = group.widest > 1 ? Math.max(2, Math.round(pitch / 2)) : 0;
  const column = group.widest * pitch + apart;
  let rows = lines;
  if (lines > RACK_ROWS) rows = Math.max(RACK_ROWS / 2, Math.ceil(Math.sqrt((lines * group.widest) / 2)));
  const mostColumns = Math.max(1, Math.floor((width - EDGE + apart) / column));
  rows = Math.max(rows, Math.ceil(lines / mostColumns));
  const spots = [];
  let [line, at] = [0, 0];
  for (const n of group.nodes) {
    const needed = rowsOf(n);
    if (line > 0 && line + needed > rows) [line, at] = [0, at + 1];
    spots.push([n, at * column, line * pitch]);
    line += needed;
  }
  const columns = at + 1;
  return { spots, width: columns * column - apart, height: Math.min(lines, rows) * pitch };
}

export class Grid {
  constructor(layout, pitch) {
    this.layout = layout;
    this.pitch = pitch;
    this.gap = pitch >= 9 ? 2 : pitch >= 4 ? 1 : 0;
    this.cell = pitch - this.gap;
    this.sections = [];
    this.blocks = [];
    this.x = new Int32Array(layout.devices).fill(-1);
    this.y = new Int32Array(layout.devices).fill(-1);
    this.shown = 0;
    this.fits = true;
    this.oneRow = true;
    this.named = pitch >= LEAST_FOR_NAMES;
  }

  add(block) {
    const { first, count } = this.layout.nodes;
    this.blocks.push(block);
    for (const [n, dx, dy] of block.spots) {
      for (let k = 0; k < count[n]; k++) {
        this.x[first[n] + k] = block.x + dx + (k % WIDEST_NODE) * this.pitch;
        this.y[first[n] + k] = block.y + dy + Math.floor(k / WIDEST_NODE) * this.pitch;
      }
      this.shown += count[n];
    }
  }

  // the device at a point, or -1
  hit(px, py) {
    const { first, count } = this.layout.nodes;
    for (const block of this.blocks) {
      if (px < block.x || py < block.y || px >= block.x + block.width || py >= block.y + block.height) continue;
      for (const [n] of block.spots) {
        const start = first[n];
        if (py < this.y[start] || py >= this.y[start + count[n] - 1] + this.pitch) continue;
        for (let i = start; i < start + count[n]; i++) {
          if (px >= this.x[i] && px < this.x[i] + this.pitch && py >= this.y[i] && py < this.y[i] + this.pitch) return i;
        }
      }
    }
    return -1;
  }

  // the nearest device in a direction (dx, dy of -1, 0, 1); the same device at the edge
  step(from, dx, dy) {
    let [best, least] = [from, Infinity];
    for (let i = 0; i < this.x.length; i++) {
      if (this.x[i] < 0 || i === from) continue;
      const [across, down] = [this.x[i] - this.x[from], this.y[i] - this.y[from]];
      const along = across * dx + down * dy;
      const aside = Math.abs(across * dy) + Math.abs(down * dx);
      if (along < this.pitch * 0.6 || (dx !== 0 && aside > this.pitch * 0.6)) continue;
      const cost = along + 3 * aside;
      if (cost < least) [best, least] = [i, cost];
    }
    return best;
  }

  nodeOf(device) {
    const { first } = this.layout.nodes;
    let [low, high] = [0, first.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (first[middle] <= device) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  firstShown() {
    return this.blocks.length ? this.layout.nodes.first[this.blocks[0].spots[0][0]] : -1;
  }

  lastShown() {
    if (!this.blocks.length) return -1;
    const [n] = this.blocks.at(-1).spots.at(-1);
    return this.layout.nodes.first[n] + this.layout.nodes.count[n] - 1;
  }

  // first device of the block `offset` blocks away from the device's own
  blockStep(device, offset) {
    const node = this.nodeOf(device);
    const own = this.blocks.findIndex((block) => block.spots.some(([n]) => n === node));
    const target = this.blocks[Math.max(0, Math.min(this.blocks.length - 1, own + offset))];
    return this.layout.nodes.first[target.spots[0][0]];
  }
}
