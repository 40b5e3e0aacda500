// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys in a tree of their chunks, with their last values. All bounds are here.

export const KEYS_MAX = 10000;
const NODES_MAX = 50000;
const DEPTH_MAX = 24;
const KEY_LENGTH_MAX = 1000;

// Number of nodes of a tree up to which new nodes are open at once.
const OPENED_MAX = 64;

// Creates a node below another one.
function nodeBelow(parent, name, isOpen) {
  return { parent, name, depth: parent ? parent.depth + 1 : -1, children: new Map(), sorted: null, keys: 0, key: null, value: null, isOpen };
}

// Splits a key into the names of the nodes on the way to it.
function namesOf(key) {
  const chunks = key.split("/");
  return chunks.length <= DEPTH_MAX ? chunks : [...chunks.slice(0, DEPTH_MAX - 1), chunks.slice(DEPTH_MAX - 1).join("/")];
}

export class KeyTree {
  #root = nodeBelow(null, "", true);
  #nodes = 0;
  #byKey = new Map();
  #rows = null;

  // The number of keys.
  get size() {
    return this.#byKey.size;
  }

  // Sets the value of a key. Returns false if there is no room for the key.
  put(key, value) {
    let node = this.#byKey.get(key);
    if (!node) {
      const hasRoom = this.#byKey.size < KEYS_MAX && this.#nodes + DEPTH_MAX <= NODES_MAX;
      if (!hasRoom || key.length > KEY_LENGTH_MAX) return false;
      node = this.#grow(key);
    }
    node.value = value;
    return true;
  }

  // Adds the nodes on the way to a key. Returns the last one.
  #grow(key) {
    let node = this.#root;
    for (const name of namesOf(key)) {
      node.keys += 1;
      let child = node.children.get(name);
      if (!child) {
        this.#nodes += 1;
        child = nodeBelow(node, name, this.#nodes <= OPENED_MAX);
        node.children.set(name, child);
        node.sorted = null;
      }
      node = child;
    }
    node.keys += 1;
    node.key = key;
    this.#byKey.set(key, node);
    this.#rows = null;
    return node;
  }

  // Removes a key, and the nodes that only it needed.
  remove(key) {
    let node = this.#byKey.get(key);
    if (!node) return;
    this.#byKey.delete(key);
    [node.key, node.value] = [null, null];
    for (; node; node = node.parent) {
      node.keys -= 1;
      if (node.keys > 0 || !node.parent) continue;
      node.parent.children.delete(node.name);
      node.parent.sorted = null;
      this.#nodes -= 1;
    }
    this.#rows = null;
  }

  // Opens or closes a node.
  open(node, isOpen) {
    node.isOpen = isOpen;
    this.#rows = null;
  }

  // Returns the nodes below open ones, from top to bottom. Sorts children only when they are shown.
  rows() {
    if (this.#rows) return this.#rows;
    const rows = [];
    const next = [this.#root];
    for (let node = next.pop(); node; node = next.pop()) {
      if (node !== this.#root) rows.push(node);
      if (!node.isOpen) continue;
      node.sorted ??= [...node.children.keys()].sort();
      for (let at = node.sorted.length - 1; at >= 0; at -= 1) next.push(node.children.get(node.sorted[at]));
    }
    this.#rows = rows;
    return rows;
  }

  // Returns the nodes of the keys that contain a text, in any case of letters.
  matching(text) {
    const wanted = text.toLowerCase();
    const found = [...this.#byKey.keys()].filter((key) => key.toLowerCase().includes(wanted));
    return found.sort().map((key) => this.#byKey.get(key));
  }
}
