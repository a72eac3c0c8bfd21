// Counts <span data-elapsed> on each second, in the words that the server wrote it with (console.common.formats.duration).
// Neither clock needs to be right: the server says how long it has lasted (milliseconds), and the page's own
// monotonic time is added to that.
const SIZES = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

export function duration(seconds, words, language) {
  const parts = [];
  for (const [unit, size] of SIZES) {
    const count = Math.floor(seconds / size);
    seconds -= count * size;
    const text = unit === "d" ? count.toLocaleString(language) : count;
    if (count) parts.push(words[unit].replace("%(n)s", text));
  }
  return parts.slice(0, 2).join(" ");
}

export function installElapsed() {
  const words = JSON.parse(document.getElementById("relative-words").textContent);
  const [navigation] = performance.getEntriesByType("navigation");
  const began = new WeakMap(); // element: when it began, in the page's own time
  const first = new Map(); // since: the earliest of these, so that a slow answer does not count back
  let received = navigation?.responseStart ?? performance.now();

  function beginning(element) {
    if (began.has(element)) return began.get(element);
    const { elapsed, since } = element.dataset;
    const at = Math.min(received - Number(elapsed), first.get(since) ?? Infinity);
    first.set(since, at);
    began.set(element, at);
    return at;
  }

  function tick() {
    for (const element of document.querySelectorAll("[data-elapsed]")) {
      const seconds = Math.floor((performance.now() - beginning(element)) / 1000);
      const text = seconds && duration(seconds, words, document.documentElement.lang);
      if (text && text !== element.textContent) element.textContent = text;
    }
  }

  document.body.addEventListener("htmx:afterSwap", () => {
    received = performance.now();
    tick();
  });
  document.addEventListener("visibilitychange", () => document.hidden || tick());
  setInterval(() => document.hidden || tick(), 250); // four times, so that no second is skipped
  tick();
}
