// Keeps <time data-relative> current. The words come from the platform, in the page's language.
const UNITS = [["day", 172800, 86400], ["hour", 3600, 3600], ["minute", 60, 60], ["second", 0, 1]];

export function relative(moment, now, language) {
  const passed = (now - moment) / 1000;
  const [unit, , size] = UNITS.find(([, from]) => Math.abs(passed) >= from);
  const format = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" });
  return format.format(-Math.trunc(passed / size), unit);
}

export function installTimes() {
  const refresh = () => {
    const now = Date.now();
    for (const element of document.querySelectorAll("time[data-relative]")) {
      element.textContent = relative(Date.parse(element.dateTime), now, document.documentElement.lang);
    }
  };
  setInterval(() => document.hidden || refresh(), 5000);
  document.addEventListener("visibilitychange", () => document.hidden || refresh());
}
