// The job page: live output, and a refresh of the rest as soon as the job changes.
import { Feed } from "./feed.js";
import { LogView } from "./log.js";
import { installElapsed } from "../elapsed.js";

const shown = () => document.getElementById("log")?.dataset.replica;
const changed = () => document.getElementById("job-live")?.dispatchEvent(new CustomEvent("job:changed", { bubbles: true }));
const FINAL = new Set(["succeeded", "failed", "cancelled", "expired"]);
let feed = null;
let current = null;

// while nothing has run yet the feed only tells of changes, the first of which brings the log
function show() {
  const card = document.getElementById("output");
  const log = document.getElementById("log");
  const { dataset } = log ?? card;
  if (card === current) return; // htmx tells of one swap several times
  feed?.stop();
  current = card;
  const view = log && new LogView(log, card);
  feed = new Feed(dataset, {
    onText: (stream, text) => view?.append(stream, text),
    onLost: () => view?.gap(dataset.textLost),
    onChanged: (state) => {
      if (FINAL.has(state)) view?.status("ended");
      changed();
    },
    onStatus: (status) => view?.status(status),
  });
  if (dataset.final !== "1") feed.start();
  document.querySelector("[data-log-replica]")?.addEventListener("change", (event) => event.target.form.submit());
}

// each refresh brings the output card along: it is put in when there is a first process, or another attempt's
document.body.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  if (detail.target.id !== "output") return;
  if (detail.fragment.querySelector("#log")?.dataset.replica === shown()) detail.shouldSwap = false;
});
document.body.addEventListener("htmx:oobAfterSwap", ({ detail }) => detail.target.id === "output" && show());
show();
installElapsed();
