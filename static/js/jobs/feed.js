// Brings a replica's output: a websocket that comes back after a cut, or polling where no websocket passes.
// Both go on at the byte where the page stopped, so nothing comes twice and nothing is missed.

const RETRY_MS = [1000, 2000, 5000, 10000];
const POLL_MS = 2500;
const LOST_RIGHT = 4403;

export class Feed {
  constructor({ job, replica, poll, stdout, stderr, state }, handlers) {
    this.job = job;
    this.replica = replica;
    this.pollUrl = poll;
    this.at = { stdout: Number(stdout), stderr: Number(stderr) };
    this.state = state; // as the page shows it: what changed while it was on its way is told at once
    this.handlers = handlers;
    this.failures = 0;
    this.stopped = false;
  }

  stop() {
    this.stopped = true;
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.close();
  }

  start() {
    if (this.stopped) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = (this.socket = new WebSocket(`${scheme}://${location.host}/ws/jobs/${this.job}/log/?${this.query()}`));
    socket.addEventListener("open", () => {
      if (this.stopped) return socket.close();
      this.failures = 0;
      this.handlers.onStatus("live");
    });
    socket.addEventListener("message", (event) => this.take(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.again(event.code));
  }

  query() {
    return new URLSearchParams({ replica: this.replica, state: this.state, ...this.at });
  }

  take(message) {
    if (message.type === "changed") return this.handlers.onChanged((this.state = message.state));
    if (message.offset < this.at[message.stream]) return;
    this.at[message.stream] = message.next;
    if (message.type === "missing") this.handlers.onLost();
    else this.handlers.onText(message.stream, message.text);
  }

  again(code) {
    if (this.stopped) return;
    if (code === LOST_RIGHT) return this.handlers.onStatus("ended");
    this.failures += 1;
    // two refusals in a row: something between us lets no websocket pass
    if (this.failures > 2) return this.poll();
    setTimeout(() => this.start(), RETRY_MS[Math.min(this.failures, RETRY_MS.length) - 1]);
  }

  async poll() {
    if (this.stopped) return;
    this.handlers.onStatus("polling");
    let ended = false;
    try {
      const response = await fetch(`${this.pollUrl}?${this.query()}`, { headers: { Accept: "application/json" } });
      if (!response.ok || response.redirected) return this.handlers.onStatus("ended");
      const { messages, state, final } = await response.json();
      for (const message of messages) this.take(message);
      if (state !== this.state) this.handlers.onChanged((this.state = state));
      ended = final && !messages.length;
    } catch (error) {
      console.info("the output could not be fetched; trying again", error.message);
    }
    if (ended) return this.handlers.onStatus("ended");
    setTimeout(() => this.poll(), document.hidden ? 4 * POLL_MS : POLL_MS);
  }
}
