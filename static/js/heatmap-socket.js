// The connection: comes back by itself, ever more slowly, and rests while nobody looks.
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15000;
const HIDDEN_MS = 30000;
const LOST_RIGHT = 4403;

export class FrameSocket {
  // callbacks: frame(ArrayBuffer), state("connecting" | "live" | "waiting" | "ended", ms until the next try)
  constructor(path, layer, callbacks) {
    this.path = path;
    this.layer = layer;
    this.callbacks = callbacks;
    this.failures = 0;
    document.addEventListener("visibilitychange", () => this.look());
    addEventListener("online", () => this.retryNow());
    this.open();
  }

  open() {
    clearTimeout(this.timer);
    this.callbacks.state("connecting", 0);
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${this.path}?layer=${this.layer}`);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.asked = this.layer;
    socket.onopen = () => this.asked !== this.layer && this.choose(this.layer);
    socket.onmessage = (event) => {
      this.failures = 0;
      this.callbacks.frame(event.data);
    };
    socket.onclose = (event) => this.socket === socket && this.closed(event.code);
  }

  closed(code) {
    this.socket = null;
    if (code === LOST_RIGHT) {
      this.ended = true;
      this.callbacks.state("ended", 0);
      return;
    }
    if (this.resting) return;
    // half of the wait is chance: after a restart of the server not everybody comes back in the same instant
    const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** this.failures++);
    const wait = longest / 2 + Math.random() * (longest / 2);
    this.callbacks.state("waiting", wait);
    this.timer = setTimeout(() => this.open(), wait);
  }

  choose(layer) {
    this.layer = layer;
    this.asked = layer;
    this.send({ layer });
  }

  askFull(layer) {
    this.send({ full: layer });
  }

  send(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  retryNow() {
    if (!this.socket && !this.ended) this.open();
  }

  look() {
    clearTimeout(this.rest);
    if (document.hidden) {
      this.rest = setTimeout(() => {
        this.resting = true;
        this.socket?.close();
      }, HIDDEN_MS);
    } else {
      this.resting = false;
      this.retryNow();
    }
  }
}
