// The pointer's tip, and the cursor: one device is chosen, by click or by arrow keys, and its panel follows.
const PANEL_WAIT_MS = 140;
const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Cursor {
  constructor(map) {
    this.map = map;
    this.device = -1;
    this.hovered = -1;
    this.view = map.find("view");
    this.stage = map.find("stage");
    this.ring = map.find("cursor");
    this.tip = map.find("tip");
    this.voice = map.find("voice");
    this.stage.addEventListener("pointermove", (event) => this.point(event));
    this.stage.addEventListener("pointerleave", () => this.hover(-1));
    this.stage.addEventListener("click", (event) => this.click(event));
    this.stage.addEventListener("dblclick", () => this.device >= 0 && this.open());
    this.view.addEventListener("keydown", (event) => this.key(event));
    this.view.addEventListener("focus", () => this.device < 0 && this.map.grid && this.move(this.map.grid.firstShown()));
    map.root.addEventListener("keydown", (event) => event.key === "Escape" && this.hover(-1));
    map.find("zoom-in").addEventListener("click", () => this.map.grid && this.zoomIn());
    map.find("zoom-out").addEventListener("click", () => this.map.grid && this.zoomOut());
  }

  at(event) {
    const box = this.stage.getBoundingClientRect();
    return this.map.grid ? this.map.grid.hit(event.clientX - box.left, event.clientY - box.top) : -1;
  }

  point(event) {
    this.hover(event.pointerType === "touch" ? -1 : this.at(event));
  }

  hover(device) {
    if (device === this.hovered) return;
    this.hovered = device;
    this.tip.hidden = device < 0;
    if (device >= 0) this.fillTip();
  }

  click(event) {
    const device = this.at(event);
    if (device >= 0) this.move(device);
  }

  key(event) {
    const { grid } = this.map;
    if (!grid || event.target !== this.view || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = this.target(event.key, grid);
    if (next >= 0) this.move(next);
    else if (event.key === "Enter" && this.device >= 0) this.open();
    else if (event.key === "+" || event.key === "z") this.zoomIn();
    else if ((event.key === "-" || event.key === "Escape") && this.map.path.length) this.zoomOut();
    else return;
    event.preventDefault();
  }

  target(key, grid) {
    if (this.device < 0) return key in KEYS ? grid.firstShown() : -1;
    if (key in KEYS) return grid.step(this.device, ...KEYS[key]);
    const { first, count } = grid.layout.nodes;
    const node = grid.nodeOf(this.device);
    const targets = {
      Home: () => first[node],
      End: () => first[node] + count[node] - 1,
      PageDown: () => grid.blockStep(this.device, 1),
      PageUp: () => grid.blockStep(this.device, -1),
    };
    return targets[key]?.() ?? -1;
  }

  zoomIn() {
    if (this.map.path.length >= 3) return;
    if (this.device < 0) this.move(this.map.grid.firstShown());
    if (this.device < 0) return;
    const { nodes } = this.map.layout;
    const node = this.map.grid.nodeOf(this.device);
    const block = this.map.grid.blocks.find((each) => each.spots.some(([n]) => n === node));
    this.map.zoom([nodes.site[node], block.key, node].slice(0, this.map.path.length + 1));
  }

  zoomOut() {
    if (this.map.path.length) this.map.zoom(this.map.path.slice(0, -1));
  }

  move(device) {
    if (device < 0 || device === this.device) return;
    this.device = device;
    this.place();
    this.voice.textContent = this.describe(device).join(", ");
    clearTimeout(this.wait);
    this.wait = setTimeout(() => this.showPanel(), PANEL_WAIT_MS);
  }

  // the panel beside the map; it renews itself from then on
  showPanel() {
    const panel = document.getElementById("device-panel");
    if (panel) this.map.load(this.url(this.map.root.dataset.panel), panel);
  }

  open() {
    location.assign(this.url(this.map.root.dataset.device));
  }

  url(pattern) {
    const { nodes } = this.map.layout;
    const node = this.map.grid.nodeOf(this.device);
    return pattern.replace("NODE", nodes.id[node]).replace("/0/", `/${this.number(this.device)}/`);
  }

  number(device) {
    const { layout, grid } = this.map;
    const node = grid.nodeOf(device);
    const at = device - layout.nodes.first[node];
    return layout.node_numbers[node]?.[at] ?? at;
  }

  model(device) {
    const { layout, grid } = this.map;
    const node = grid.nodeOf(device);
    const kind = layout.node_models[node]?.[device - layout.nodes.first[node]] ?? layout.nodes.model[node];
    return layout.models[kind];
  }

  name(device) {
    return `${this.map.layout.nodes.name[this.map.grid.nodeOf(device)]} · GPU ${this.number(device)}`;
  }

  // [name, value on the layer, marks ..., model]
  describe(device) {
    const { store, layer, words, tenants } = this.map;
    const values = store.values[layer];
    const model = this.model(device);
    const value = values ? words.value(layer, values[device], model, tenants) : words.texts.loading;
    const marks = words.marks(store.values.marks?.[device] ?? 0);
    return [this.name(device), `${words.layer(layer)} ${value}`, ...marks, model?.name ?? ""];
  }

  fillTip() {
    const [name, ...rest] = this.describe(this.hovered);
    const title = document.createElement("b");
    title.textContent = name;
    const lines = rest.map((text) => {
      const line = document.createElement("span");
      line.textContent = text;
      return line;
    });
    this.tip.replaceChildren(title, ...lines);
    const { grid } = this.map;
    const [x, y] = [grid.x[this.hovered] + grid.cell / 2, grid.y[this.hovered]];
    const left = Math.max(0, Math.min(grid.width - this.tip.offsetWidth, x - this.tip.offsetWidth / 2));
    const above = y - this.tip.offsetHeight - 8;
    this.tip.style.transform = `translate(${left}px, ${above < 0 ? y + grid.cell + 8 : above}px)`;
  }

  place() {
    const { grid } = this.map;
    const shown = this.device >= 0 && grid.x[this.device] >= 0;
    this.ring.hidden = !shown;
    if (!shown) return;
    this.ring.style.width = this.ring.style.height = `${grid.cell + 4}px`;
    this.ring.style.transform = `translate(${grid.x[this.device] - 2}px, ${grid.y[this.device] - 2}px)`;
    if (document.activeElement === this.view) this.ring.scrollIntoView({ block: "nearest" });
  }

  // the grid is another one: the device stays chosen if it is still shown
  rearranged() {
    this.hover(-1);
    if (this.device >= this.map.layout.devices || (this.device >= 0 && this.map.grid.x[this.device] < 0)) this.device = -1;
    if (this.device < 0 && this.map.path.length) this.move(this.map.grid.firstShown());
    this.place();
  }

  refreshed() {
    if (this.hovered >= 0) this.fillTip();
  }
}
