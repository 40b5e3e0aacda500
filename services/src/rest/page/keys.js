// SPDX-License-Identifier: MIT OR Apache-2.0
// The keys of a subscription with their last values. Only rows in sight are elements.

const ROW = 20;
const KEYS_MAX = 10000;
const SHOWN_MAX = 300;

export function startKeys(find, pathOf, told) {
  const [list, room, rows, stop] = ["keys", "room", "rows", "stop"].map(find);
  const values = new Map();
  let sorted = [], isNew = false, isDue = false, isFull = false, events;

  function draw() {
    isDue = false;
    if (isNew) {
      sorted = [...values.keys()].sort();
      isNew = false;
    }
    room.style.height = `${sorted.length * ROW}px`;
    const first = Math.max(Math.floor(list.scrollTop / ROW) - 5, 0);
    const last = first + Math.ceil(list.clientHeight / ROW) + 10;
    rows.style.top = `${first * ROW}px`;
    rows.replaceChildren(...sorted.slice(first, last).map((key) => {
      const row = document.createElement("div");
      const name = document.createElement("b");
      name.textContent = key;
      row.append(name, values.get(key));
      return row;
    }));
    told(find("keys-state"), `${sorted.length} keys` + (isFull ? `; more than ${KEYS_MAX} are left out` : ""));
  }

  function due() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(draw);
  }

  function end() {
    events?.close();
    events = undefined;
    stop.disabled = true;
  }

  function put(event) {
    const { key, value } = JSON.parse(event.data);
    if (values.has(key) || values.size < KEYS_MAX) {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      isNew ||= !values.has(key);
      values.set(key, text.slice(0, SHOWN_MAX));
    } else {
      isFull = true;
    }
    due();
  }

  find("subscribe").addEventListener("submit", (event) => {
    event.preventDefault();
    end();
    values.clear();
    [isNew, isFull] = [true, false];
    events = new EventSource(pathOf(new FormData(event.target).get("key")) + "?_initial");
    events.addEventListener("PUT", put);
    events.addEventListener("DELETE", (event) => {
      isNew = values.delete(JSON.parse(event.data).key) || isNew;
      due();
    });
    events.onopen = () => told(find("keys-state"), "subscribed");
    events.onerror = () => told(find("keys-state"), "the subscription failed or the connection was lost", true);
    stop.disabled = false;
    due();
  });
  stop.addEventListener("click", end);
  list.addEventListener("scroll", due);
}
