// The live heatmap: fetches the layout, takes frames, paints them, and follows pointer and keyboard.
import { Store, decode } from "./heatmap-frame.js";
import { arrange } from "./heatmap-grid.js";
import { readTokens, scaleTable, tenantTable } from "./heatmap-colours.js";
import { Painter, drawMarks } from "./heatmap-paint.js";
import { FrameSocket } from "./heatmap-socket.js";
import { Words } from "./heatmap-words.js";
import { Cursor } from "./heatmap-cursor.js";
import { drawLabels, drawLegend, drawPath } from "./heatmap-labels.js";

const LATE_S = 5;
const REMEMBERED = "weir.heatmap";

export class Heatmap {
  constructor(root) {
    this.root = root;
    this.find = (part) => root.querySelector(`[data-heat="${part}"]`);
    this.words = new Words(JSON.parse(document.getElementById("heat-texts").textContent), document.documentElement.lang);
    this.store = new Store();
    this.tenants = [];
    this.path = [];
    this.paints = [];
    const kept = remembered();
    this.layer = kept.layer ?? "utilisation";
    this.group = kept.group ?? "rack";
    this.painter = new Painter(this.find("cells"));
    this.cursor = new Cursor(this);
    this.press("layer", this.layer);
    this.press("group", this.group);
    this.listen();
  }

  async start() {
    await this.loadLayout();
    this.socket = new FrameSocket(this.root.dataset.socket, this.layer, {
      frame: (buffer) => this.take(buffer),
      state: (state) => this.say(state),
    });
    setInterval(() => this.showAge(), 500);
  }

  listen() {
    for (const button of this.root.querySelectorAll("[data-layer]")) {
      button.addEventListener("click", () => this.chooseLayer(button.dataset.layer));
    }
    for (const button of this.root.querySelectorAll("[data-group]")) {
      button.addEventListener("click", () => this.chooseGroup(button.dataset.group));
    }
    new ResizeObserver(() => this.resized()).observe(this.find("view"));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.themed());
    const watched = { attributes: true, attributeFilter: ["data-theme"] };
    new MutationObserver(() => this.themed()).observe(document.documentElement, watched);
  }

  async loadLayout() {
    if (this.loading) return;
    this.loading = true;
    try {
      const answer = await fetch(this.root.dataset.layout, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(`layout: ${answer.status}`);
      this.layout = await answer.json();
      this.path = this.path.filter((_, depth) => depth < 2);
      this.store.clear();
      this.arrange();
    } catch {
      setTimeout(() => this.loadLayout(), 3000); // said by the age that grows; the next try may find the server
    } finally {
      this.loading = false;
    }
    for (const layer of [this.layer, "marks"]) this.socket?.askFull(layer);
  }

  async loadTenants() {
    const answer = await fetch(this.root.dataset.tenants, { headers: { Accept: "application/json" } });
    if (!answer.ok) return;
    this.tenants = (await answer.json()).tenants;
    this.tables();
    this.paintAll();
    this.legend();
  }

  arrange() {
    const view = this.find("view");
    this.grid = arrange(this.layout, {
      width: Math.max(200, view.clientWidth),
      height: Math.max(300, Math.min(innerHeight * 0.62, 900)),
      group: this.group,
      path: this.path,
      ungrouped: this.words.texts[`no_${this.group}`],
    });
    this.scale = devicePixelRatio || 1;
    this.width = view.clientWidth;
    this.find("stage").style.height = `${Math.max(this.grid.height, 1) + 4}px`;
    this.painter.fit(this.grid, this.scale);
    this.tables();
    drawLabels(this);
    drawPath(this);
    this.paintAll();
    this.paintMarks();
    this.cursor.rearranged();
    this.legend();
    this.find("empty").hidden = this.layout.devices > 0;
  }

  tables() {
    this.tokens = readTokens(document.documentElement);
    this.table = this.layer === "tenant" ? tenantTable(this.tenants.length, this.tokens) : scaleTable(this.layer, this.tokens);
  }

  take(buffer) {
    if (!this.layout) return;
    const frame = decode(buffer, this.layout.devices);
    if (!frame) return;
    this.received = performance.now();
    this.say("live");
    if (frame.layout !== this.layout.version) {
      this.loadLayout();
      return;
    }
    const done = this.store.apply(frame);
    if (done === "gap") this.socket.askFull(frame.layer);
    if (done === "gap" || done === "old") return;
    if (frame.layer === "tenant" && frame.table > this.tenants.length) this.loadTenants();
    this.show(frame, done);
  }

  show(frame, done) {
    if (frame.layer === "marks") {
      if (done === "full" || frame.indexes.length) this.paintMarks();
    } else if (frame.layer === this.layer) {
      if (done === "full") this.paintAll();
      else this.paintSome(frame.indexes);
      if (this.layer === "tenant") this.legend();
    }
    this.cursor.refreshed();
  }

  paintAll() {
    const values = this.store.values[this.layer];
    this.root.toggleAttribute("data-waiting", !values && this.layout?.devices > 0);
    if (!values) return;
    const begun = performance.now();
    this.painter.all(values, this.table);
    this.measured(performance.now() - begun);
  }

  paintSome(indexes) {
    const begun = performance.now();
    this.painter.some(indexes, this.store.values[this.layer], this.table);
    this.measured(performance.now() - begun);
  }

  measured(milliseconds) {
    this.paints.push(milliseconds);
    if (this.paints.length > 100) this.paints.shift();
  }

  paintMarks() {
    drawMarks(this.find("marks"), this.grid, this.store.values.marks, this.tokens, this.scale);
  }

  chooseLayer(layer) {
    if (layer === this.layer) return;
    this.store.forget(this.layer);
    this.layer = layer;
    this.press("layer", layer);
    this.tables();
    this.paintAll();
    this.legend();
    this.socket?.choose(layer);
    if (layer === "tenant" && !this.tenants.length) this.loadTenants();
    remember({ layer, group: this.group });
  }

  chooseGroup(group) {
    if (group === this.group) return;
    this.group = group;
    this.path = this.path.slice(0, 1);
    this.press("group", group);
    remember({ layer: this.layer, group });
    if (this.layout) this.arrange();
  }

  zoom(path) {
    this.path = path;
    this.arrange();
    this.root.dispatchEvent(new CustomEvent("heat:zoom", { bubbles: true }));
    const detail = this.find("detail");
    detail.hidden = path.length < 3;
    if (path.length < 3) detail.replaceChildren();
    else this.load(this.root.dataset.node.replace("NODE", this.layout.nodes.id[path[2]]), detail);
  }

  // a fragment of the server, by htmx so that what is in it works too
  load(url, into) {
    window.htmx.ajax("GET", url, { target: into, swap: "innerHTML" });
  }

  press(kind, value) {
    for (const button of this.root.querySelectorAll(`[data-${kind}]`)) {
      button.setAttribute("aria-pressed", String(button.dataset[kind] === value));
    }
  }

  resized() {
    const view = this.find("view");
    if (this.layout && (view.clientWidth !== this.width || devicePixelRatio !== this.scale)) this.arrange();
  }

  themed() {
    if (!this.layout) return;
    this.tables();
    this.paintAll();
    this.paintMarks();
    this.legend();
  }

  legend() {
    drawLegend(this);
  }

  say(state) {
    if (this.state === state) return;
    this.state = state;
    this.root.dataset.state = state;
    this.showAge();
  }

  showAge() {
    const age = this.received === undefined ? null : (performance.now() - this.received) / 1000;
    const late = this.state !== "live" || age === null || age > LATE_S;
    const line = this.find("age");
    line.classList.toggle("tone-warn", late);
    if (this.state === "ended") line.textContent = this.words.texts.ended;
    else if (age === null) line.textContent = this.words.texts.loading;
    else if (this.state === "waiting") line.textContent = `${this.words.texts.reconnecting} ${this.words.age(age)}`;
    else line.textContent = this.words.age(age);
  }
}

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(REMEMBERED)) ?? {};
  } catch {
    return {}; // storage that is switched off or holds nonsense: start from the defaults
  }
}

function remember(choice) {
  try {
    localStorage.setItem(REMEMBERED, JSON.stringify(choice));
  } catch {
    return; // a convenience only
  }
}

const root = document.getElementById("heatmap");
if (root) {
  root.heatmap = new Heatmap(root);
  root.heatmap.start();
}
