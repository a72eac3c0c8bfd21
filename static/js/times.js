// Keeps <time data-relative> current, in the words that the server wrote it with (`relative_words`).
const UNITS = [["d", 172800, 86400], ["h", 3600, 3600], ["min", 60, 60], ["s", 0, 1]];

export function relative(moment, now, words) {
  const passed = Math.trunc((now - moment) / 1000);
  const seconds = Math.abs(passed);
  const [unit, , size] = UNITS.find(([, from]) => seconds >= from);
  const time = words[unit].replace("%(n)s", Math.trunc(seconds / size));
  return words[passed < 0 ? "in" : "ago"].replace("%(time)s", time);
}

export function installTimes() {
  const script = document.getElementById("relative-words");
  if (!script) return;
  const words = JSON.parse(script.textContent);
  const refresh = () => {
    const now = Date.now();
    for (const element of document.querySelectorAll("time[data-relative]")) {
      element.textContent = relative(Date.parse(element.dateTime), now, words);
    }
  };
  setInterval(() => document.hidden || refresh(), 5000);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}
