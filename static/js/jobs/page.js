// The job page: live output, and a refresh of the rest as soon as the job changes.
import { Feed } from "./feed.js";
import { LogView } from "./log.js";

const log = document.getElementById("log");
const changed = () => document.getElementById("job-live")?.dispatchEvent(new CustomEvent("job:changed", { bubbles: true }));

if (log) {
  const view = new LogView(log, document.getElementById("output"));
  const feed = new Feed(log.dataset, {
    onText: (stream, text) => view.append(stream, text),
    onLost: () => view.gap(log.dataset.textLost),
    onChanged: changed,
    onStatus: (status) => view.status(status),
  });
  if (log.dataset.final !== "1") feed.start();
}
document.querySelector("[data-log-replica]")?.addEventListener("change", (event) => event.target.form.submit());
