// Names on the map, the path of the zoom, and the legend. Plain elements: they can be read and selected.
import { cssColour, tenantColour } from "./heatmap-colours.js";
import { SEVERAL } from "./heatmap-frame.js";

const MOST_TENANTS = 10;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function button(className, text, label, action) {
  const made = element("button", className, text);
  made.type = "button";
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", action);
  return made;
}

export function drawLabels(map) {
  const { grid, layout, words } = map;
  const labels = grid.sections.map((section) => {
    const line = element("div", "heat-site");
    const name = button("heat-name", section.name, words.fill("zoom_to", { name: section.name }), () => map.zoom([section.site]));
    name.tabIndex = -1; // the keyboard zooms from the cursor; a tab stop a rack would be a long way through
    const facts = [...modelsOf(map, section.site), layout.sites[section.site].fabric, words.fill("gpus", { n: words.number.format(section.devices) })];
    line.append(name, element("span", "muted", facts.filter(Boolean).join(" · ")));
    line.style.transform = `translateY(${section.y}px)`;
    return line;
  });
  for (const block of grid.named ? grid.blocks : []) {
    const label = button("heat-block", block.label, words.fill("zoom_to", { name: block.label }), () => map.zoom([block.site, block.key]));
    label.tabIndex = -1;
    label.style.maxWidth = `${block.width + 6}px`;
    label.style.transform = `translate(${block.x}px, ${block.y - 18}px)`;
    labels.push(label);
    if (map.path.length === 2) labels.push(...nodeLabels(map, block));
  }
  map.find("labels").replaceChildren(...labels);
}

// inside a rack there is room for the nodes' names beside their rows
function nodeLabels(map, block) {
  const { grid, layout } = map;
  if (block.width + 190 > grid.width) return [];
  return block.spots.map(([n]) => {
    const label = button("heat-node", layout.nodes.name[n], "", () => map.zoom([block.site, block.key, n]));
    label.tabIndex = -1;
    const last = layout.nodes.first[n] + Math.min(16, layout.nodes.count[n]) - 1;
    label.style.transform = `translate(${grid.x[last] + grid.pitch + 10}px, ${grid.y[last] + grid.cell / 2 - 10}px)`;
    return label;
  });
}

function modelsOf(map, site) {
  const { nodes, models } = map.layout;
  const found = new Set();
  for (let n = 0; n < nodes.site.length && found.size < 4; n++) {
    if (nodes.site[n] === site && nodes.model[n] >= 0) found.add(models[nodes.model[n]].name);
  }
  return found.size < 4 ? [...found] : [];
}

export function drawPath(map) {
  const bar = map.find("path");
  const { layout, words, path } = map;
  bar.hidden = path.length === 0;
  map.find("zoom-in").disabled = path.length >= 3;
  map.find("zoom-out").disabled = path.length === 0;
  const names = [words.texts.all_sites];
  if (path.length > 0) names.push(layout.sites[path[0]].name);
  if (path.length > 1) names.push(path[1] || words.texts[`no_${map.group}`]);
  if (path.length > 2) names.push(layout.nodes.name[path[2]]);
  const parts = names.map((name, depth) => {
    if (depth === names.length - 1) return element("span", "heat-here", name);
    return button("heat-step", name, words.fill("zoom_to", { name }), () => map.zoom(path.slice(0, depth)));
  });
  bar.replaceChildren(...parts);
}

export function drawLegend(map) {
  const legend = map.find("legend");
  legend.replaceChildren(...(map.layer === "tenant" ? tenants(map) : ramp(map)));
  map.find("count").textContent = map.words.fill("gpus", { n: map.words.number.format(map.grid?.shown ?? 0) });
}

function ramp(map) {
  const [low, high] = map.words.texts[`range_${map.layer}`].split("|");
  const strip = element("span", "heat-ramp");
  strip.setAttribute("aria-hidden", "true");
  strip.append(...Array.from({ length: 10 }, (_, i) => element("i", `ramp-${i}`)));
  return [element("span", "", low), strip, element("span", "", high)];
}

// the tenants with most devices here; the rest is named by the tip
function tenants(map) {
  const values = map.store.values.tenant;
  if (!values || !map.grid) return [];
  const counts = new Map();
  for (let i = 0; i < values.length; i++) {
    if (map.grid.x[i] >= 0 && values[i] && values[i] !== SEVERAL) counts.set(values[i], (counts.get(values[i]) ?? 0) + 1);
  }
  const several = values.some((value, i) => value === SEVERAL && map.grid.x[i] >= 0);
  const largest = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_TENANTS);
  const entries = largest.map(([value, count]) => {
    const entry = element("span", "heat-tenant");
    const swatch = element("i");
    swatch.style.backgroundColor = cssColour(tenantColour(value - 1, map.tokens.dark));
    entry.append(swatch, element("span", "", map.tenants[value - 1] ?? "…"), element("span", "muted num", map.words.number.format(count)));
    return entry;
  });
  if (several) {
    const entry = element("span", "heat-tenant");
    entry.append(element("i", "heat-several"), element("span", "", map.words.texts.several));
    entries.push(entry);
  }
  return entries;
}
