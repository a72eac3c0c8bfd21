// Draws the server's figures with plotly.js from our own host. One configuration for every chart of the console:
// nothing is shared, nothing leaves the host.
const CONFIG = {
  displaylogo: false,
  showSendToCloud: false,
  plotlyServerURL: "",
  responsive: true,
  displayModeBar: "hover",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
};
const REFRESH_MS = 60000;
const PLOTLY = new URL("../vendor/plotly.min.js", import.meta.url).href;

// plotly.js brings a style element for maps along unless one of this id stands already; we draw no maps, and the
// content security policy would refuse it with an error on every page (tests/web/test_look.py knows the id)
const MAP_STYLE = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53";

let library = null;

// 4.8 MB: fetched when the first chart comes into view, and once
function plotly() {
  library ??= new Promise((resolve, reject) => {
    const stand = document.createElement("meta");
    stand.id = MAP_STYLE;
    const script = document.createElement("script");
    script.src = PLOTLY;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      library = null;
      reject(new Error("plotly.js could not be loaded"));
    };
    document.head.append(stand, script);
  });
  return library;
}

// "{accent}" in a figure becomes the colour of that token in the present theme
export function themed(value, style) {
  if (typeof value === "string") return value.replace(/^\{([a-z0-9-]+)\}$/, (_, name) => style.getPropertyValue(`--${name}`).trim());
  if (Array.isArray(value)) return value.length && typeof value[0] === "object" ? value.map((each) => themed(each, style)) : value;
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, themed(each, style)]));
  return value;
}

class Chart {
  constructor(element) {
    this.element = element;
    this.plot = element.querySelector(".chart-plot");
    this.part = (name) => element.querySelector(`.chart-${name}`);
  }

  async load() {
    try {
      const answer = await fetch(this.element.dataset.chart, { headers: { Accept: "application/json" } });
      if (!answer.ok) throw new Error(`${answer.status}`);
      this.figure = await answer.json();
      await this.draw();
      this.part("error").hidden = true;
    } catch {
      this.element.toggleAttribute("data-ready", true);
      this.part("error").hidden = Boolean(this.drawn);
    }
  }

  async draw() {
    const empty = this.figure.data.every(({ x, type }) => x.length < (type === "bar" ? 1 : 2)); // one point is no line
    this.part("none").hidden = !empty;
    if (!empty) {
      const library = await plotly();
      const style = getComputedStyle(document.documentElement);
      await library.react(this.plot, themed(this.figure.data, style), themed(this.figure.layout, style), CONFIG);
      this.drawn = true;
    }
    this.element.toggleAttribute("data-ready", true);
  }
}

export function install(root = document) {
  const charts = [...root.querySelectorAll("[data-chart]")].map((element) => new Chart(element));
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      charts.find((chart) => chart.element === target).load();
    }
  }, { rootMargin: "200px" });
  for (const chart of charts) seen.observe(chart.element);
  const redraw = () => charts.forEach((chart) => chart.drawn && chart.draw());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  setInterval(() => document.hidden || charts.forEach((chart) => chart.figure && chart.load()), REFRESH_MS);
}

install();
