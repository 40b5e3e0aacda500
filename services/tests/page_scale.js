// A made-up node: what the page would get as events comes from here.
const MARKUP = "<img src=x onerror=\"document.title='owned'\">";
const sources = [];

window.EventSource = class {
  constructor(url) {
    [this.url, this.listeners] = [url, new Map()];
    sources.push(this);
  }
  addEventListener(name, listener) {
    this.listeners.set(name, listener);
  }
  close() {}
};

window.madeUp = {
  longest: 0,
  work: [],
  gaps: [],

  // Calls a function as one event, and keeps the time that the longest one takes.
  timed(event) {
    const begin = performance.now();
    event();
    this.longest = Math.max(this.longest, performance.now() - begin);
  },

  // Sends an update about so many neighbours, in the second `at`.
  update(count, at) {
    const link = (index) => ({
      zid: index === 7 ? MARKUP : `${index}`.padStart(8, "0") + "cafe", role: "peer", local: "tcp/127.0.0.1:7447", remote: `tcp/10.0.${index >> 8}.${index & 255}:7447`,
      sent: at * index, sent_bytes: at * index * 100, received: at * 50, received_bytes: at * 3000, queued: 0, queued_bytes: 0, dropped: index === 7 ? at : 0, full: 0,
    });
    const links = Array.from({ length: count }, (_, index) => link(index));
    const drops = [{ filter: "access_control", what: `rule ${MARKUP}`, count: at }];
    const data = JSON.stringify({ zid: "c0ffee", at_ms: at * 1000, links, links_left_out: 0, drops, may_publish: true });
    this.timed(() => sources[0].onmessage({ data }));
  },

  key: (index) => index === 5 ? `flat/${MARKUP.replace("/", "")}` : index < 9000 ? `flat/k${index}` : `deep/${index % 10}/${index % 100}/${index}`,

  // Sends publications on so many keys, beginning with one of them.
  publish(first, count, text) {
    for (let index = first; index < first + count; index += 1) {
      const data = JSON.stringify({ key: this.key(index % 10000), value: `${text} ${MARKUP}`, encoding: "text/plain", timestamp: null });
      this.timed(() => sources[1].listeners.get("PUT")({ data }));
    }
  },

  // Sends updates and publications for so many frames, and scrolls. Keeps the time that the page
  // works in each frame, from its begin until it is painted, and the time between frames.
  run(frames) {
    const [links, keys] = [document.getElementById("links-list"), document.getElementById("keys")];
    [this.work, this.gaps, this.longest, this.isDone] = [[], [], 0, false];
    const channel = new MessageChannel();
    let begin = 0;
    channel.port1.onmessage = () => {
      this.work.push(performance.now() - begin);
      this.publish(this.work.length * 40, 40, `value ${this.work.length}`);
      if (this.work.length % 60 === 0) this.update(1000, 10 + this.work.length / 60);
      [links.scrollTop, keys.scrollTop] = [(links.scrollTop + 100) % 20000, (keys.scrollTop + 100) % 200000];
    };
    const frame = (now) => {
      if (begin > 0) this.gaps.push(now - this.before);
      [begin, this.before] = [performance.now(), now];
      channel.port2.postMessage(0);
      if (this.work.length < frames) requestAnimationFrame(frame);
      else this.isDone = true;
    };
    requestAnimationFrame(frame);
  },
};
