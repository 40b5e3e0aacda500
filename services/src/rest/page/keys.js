// SPDX-License-Identifier: MIT OR Apache-2.0
// The keys of a subscription: a tree with their last values, search, and their rates.

import { find, pathOf, told } from "/@page/forms.js";
import { rowsIn } from "/@page/rows.js";
import { KeyTree, KEYS_MAX } from "/@page/tree.js";

const ROW = 24;
const SHOWN_MAX = 300;
const DRAW_EVERY_MS = 100;

// Returns the text that is shown of a value.
function textOf(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "";
  return text.slice(0, SHOWN_MAX);
}

// Returns an element with a class and a text.
function textIn(tag, name, text) {
  const element = document.createElement(tag);
  element.className = name;
  element.textContent = text;
  return element;
}

// Counts events of keys, for their rates.
class Talkers {
  #counts = new Map();
  #since = performance.now();

  // Counts an event of a key.
  add(key, length) {
    const known = this.#counts.get(key);
    if (known) {
      known.rate += 1;
      known.bytesRate += length;
    } else if (this.#counts.size < KEYS_MAX) {
      this.#counts.set(key, { key, rate: 1, bytesRate: length });
    }
  }

  // Returns the keys with the highest rates since the last call.
  take(count) {
    const seconds = Math.max((performance.now() - this.#since) / 1000, 0.001);
    const all = [...this.#counts.values()].sort((a, b) => b.rate - a.rate || (a.key < b.key ? -1 : 1));
    this.#since = performance.now();
    this.#counts.clear();
    return all.slice(0, count).map((one) => ({ key: one.key, rate: one.rate / seconds, bytesRate: one.bytesRate / seconds }));
  }
}

// The tree as it is shown, with the row that the keyboard moves.
class TreeView {
  #tree = new KeyTree();
  #list = find("keys");
  #rows = [];
  #active = -1;
  #search = "";
  #drawnAt = 0;
  #isDue = false;
  #leftOut = 0;

  constructor() {
    this.show = rowsIn(this.#list, find("rows"), ROW, (node, index) => this.#row(node, index));
    this.#list.addEventListener("keydown", (event) => this.#move(event));
    find("search").addEventListener("input", (event) => {
      this.#search = event.target.value.trim();
      [this.#active, this.#list.scrollTop] = [-1, 0];
      this.draw();
    });
  }

  // Forgets all keys.
  clear() {
    [this.#tree, this.#leftOut, this.#active] = [new KeyTree(), 0, -1];
    this.due();
  }

  // Takes the value of a key.
  put(key, value) {
    if (!this.#tree.put(key, value)) this.#leftOut += 1;
    this.due();
  }

  // Forgets a key.
  remove(key) {
    this.#tree.remove(key);
    this.due();
  }

  // Draws soon: many events share a drawing.
  due() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => this.draw(), Math.max(this.#drawnAt + DRAW_EVERY_MS - performance.now(), 0));
  }

  // Draws the open part of the tree, or the keys that the search finds.
  draw() {
    [this.#isDue, this.#drawnAt] = [false, performance.now()];
    this.#rows = this.#search ? this.#tree.matching(this.#search) : this.#tree.rows();
    this.show(this.#rows);
    const found = this.#search ? `, ${this.#rows.length} found` : "";
    const more = this.#leftOut > 0 ? `; ${this.#leftOut} values of further keys are left out (more than ${KEYS_MAX}, or too long)` : "";
    find("keys-count").textContent = `${this.#tree.size} keys${found}${more}`;
  }

  // Returns the element of a node.
  #row(node, index) {
    const row = textIn("div", index === this.#active ? "active" : "", "");
    const isBranch = node.children.size > 0 && !this.#search;
    row.id = `key-${index}`;
    row.setAttribute("role", "treeitem");
    row.setAttribute("aria-level", this.#search ? 1 : node.depth + 1);
    if (isBranch) row.setAttribute("aria-expanded", node.isOpen);
    row.style.paddingLeft = this.#search ? "0.5rem" : `${0.5 + node.depth}rem`;
    row.append(textIn("i", "", isBranch ? (node.isOpen ? "▾" : "▸") : ""), textIn("b", "", this.#search ? node.key : node.name));
    if (isBranch) row.append(textIn("small", "", `(${node.keys})`));
    if (node.key !== null) row.append(node.value);
    row.addEventListener("click", () => this.#choose(index, isBranch && !node.isOpen));
    return row;
  }

  // Makes a row the active one, in sight, and opens or closes it.
  #choose(index, isOpen) {
    const node = this.#rows[index];
    if (!node) return;
    this.#active = index;
    if (!this.#search && node.children.size > 0 && isOpen !== node.isOpen) this.#tree.open(node, isOpen);
    const [top, bottom] = [index * ROW, (index + 1) * ROW];
    if (top < this.#list.scrollTop) this.#list.scrollTop = top;
    if (bottom > this.#list.scrollTop + this.#list.clientHeight) this.#list.scrollTop = bottom - this.#list.clientHeight;
    this.#list.setAttribute("aria-activedescendant", `key-${index}`);
    this.draw();
  }

  // Moves the active row, opens and closes it, as keys of the keyboard say.
  #move(event) {
    const node = this.#rows[this.#active];
    const last = this.#rows.length - 1;
    const at = this.#active;
    const steps = { ArrowDown: Math.min(at + 1, last), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last, PageDown: Math.min(at + 10, last), PageUp: Math.max(at - 10, 0) };
    const opens = { ArrowRight: true, ArrowLeft: false, Enter: !node?.isOpen };
    if (event.key in steps) {
      this.#choose(steps[event.key], this.#rows[steps[event.key]]?.isOpen);
    } else if (event.key === "ArrowLeft" && node && !(node.isOpen && node.children.size > 0)) {
      this.#choose(this.#rows.indexOf(node.parent), true);
    } else if (event.key in opens && node) {
      this.#choose(at, opens[event.key]);
    } else {
      return;
    }
    event.preventDefault();
  }
}

// Starts the form of the subscription. Returns the function that names the keys with the highest rates.
export function startKeys() {
  const [view, talkers, stop, state] = [new TreeView(), new Talkers(), find("stop"), find("keys-state")];
  let events;

  // Ends the subscription.
  function end() {
    events?.close();
    [events, stop.disabled] = [undefined, true];
  }

  // Takes a publication.
  function put(event) {
    const { key, value } = JSON.parse(event.data);
    const text = textOf(value);
    talkers.add(key, event.data.length);
    view.put(key, text);
  }

  find("subscribe").addEventListener("submit", (event) => {
    event.preventDefault();
    end();
    view.clear();
    events = new EventSource(pathOf(new FormData(event.target).get("key")) + "?_initial");
    events.addEventListener("PUT", put);
    events.addEventListener("DELETE", (event) => view.remove(JSON.parse(event.data).key));
    events.onopen = () => told(state, "subscribed");
    events.onerror = () => told(state, "the subscription failed or the connection was lost", true);
    stop.disabled = false;
  });
  stop.addEventListener("click", () => {
    end();
    told(state, "stopped");
  });
  return { talkers: (count) => talkers.take(count) };
}
