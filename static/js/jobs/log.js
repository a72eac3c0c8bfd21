// Shows output as lines: both streams in the order of arrival, search, one stream only, follow.

const MOST_LINES = 5000;

export class LogView {
  constructor(log, card) {
    this.log = log;
    this.card = card;
    this.open = { stdout: null, stderr: null };
    this.words = "";
    const pieces = [...log.querySelectorAll(".log-piece")].map((piece) => [piece.dataset.stream, piece.textContent]);
    log.replaceChildren();
    for (const [stream, text] of pieces) this.append(stream, text);
    this.tools();
    this.toEnd();
  }

  append(stream, text) {
    const parts = text.split("\n");
    parts.forEach((part, index) => {
      if (part || index === 0) this.extend(stream, part);
      if (index < parts.length - 1) this.finish(stream);
    });
    while (this.log.childElementCount > MOST_LINES) this.log.firstElementChild.remove();
    if (this.follow?.checked ?? true) this.toEnd();
    if (this.words) this.count();
  }

  extend(stream, part) {
    if (!this.open[stream]) {
      if (!part) return;
      this.open[stream] = this.line(stream);
    }
    // a bare carriage return starts the line again: progress bars stay one line
    const text = (this.open[stream].text + part).split("\r").pop();
    this.open[stream].text = text;
    this.paint(this.open[stream].element, text);
  }

  finish(stream) {
    if (!this.open[stream]) this.line(stream);
    this.open[stream] = null;
  }

  line(stream) {
    const element = document.createElement("span");
    element.className = "log-line";
    element.dataset.stream = stream;
    this.log.append(element);
    return { element, text: "" };
  }

  gap(text) {
    const element = document.createElement("span");
    element.className = "log-line log-gap";
    element.textContent = text;
    this.log.append(element);
  }

  paint(element, text) {
    const at = this.words ? text.toLowerCase().indexOf(this.words) : -1;
    element.toggleAttribute("data-hit", at >= 0);
    if (at < 0) return void (element.textContent = text);
    const mark = document.createElement("mark");
    mark.textContent = text.slice(at, at + this.words.length);
    element.replaceChildren(text.slice(0, at), mark, text.slice(at + this.words.length));
  }

  search(words) {
    this.words = words.trim().toLowerCase();
    this.log.toggleAttribute("data-searching", Boolean(this.words));
    for (const line of this.log.children) this.paint(line, line.textContent);
    this.count();
  }

  count() {
    const hits = this.log.querySelectorAll("[data-hit]").length;
    this.card.querySelector("[data-log-count]").textContent = this.words ? `${hits} ${this.log.dataset.textMatches}` : "";
  }

  tools() {
    const find = (name) => this.card.querySelector(`[${name}]`);
    const streams = find("data-log-streams");
    const search = find("data-log-search");
    this.follow = find("data-log-follow");
    for (const hidden of [streams, search, find("data-log-follow-box")]) hidden.hidden = false;
    search.addEventListener("input", () => this.search(search.value));
    streams.addEventListener("click", ({ target }) => {
      if (!target.matches("button")) return;
      for (const button of streams.children) button.setAttribute("aria-pressed", String(button === target));
      this.log.dataset.only = target.dataset.stream;
    });
    this.follow.addEventListener("change", () => this.follow.checked && this.toEnd());
    // reading further up stops the following; coming back to the end starts it again
    this.log.addEventListener("scroll", () => {
      this.follow.checked = this.log.scrollTop + this.log.clientHeight >= this.log.scrollHeight - 24;
    });
  }

  toEnd() {
    this.log.scrollTop = this.log.scrollHeight;
  }

  status(status) {
    const foot = this.card.querySelector("[data-log-status]");
    const texts = { live: foot.dataset.textLive, polling: foot.dataset.textPolling, ended: foot.dataset.textEnded };
    foot.textContent = texts[status];
    foot.className = status === "ended" ? "card-foot" : "card-foot live tone-ok";
  }
}
