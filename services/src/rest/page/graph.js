// SPDX-License-Identifier: MIT OR Apache-2.0
// The drawing of a node and its neighbours.

import { bytes } from "/@page/rates.js";

const DRAWN_MAX = 32;
const NAMED_MAX = 16;
const SVG = "http://www.w3.org/2000/svg";
const [X, Y] = [300, 150];

// Creates an element of the drawing.
function shape(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Returns the rates of an edge as text: to the neighbour, and from it if the node counts that.
function ratesOf(one) {
  const out = `↑ ${bytes(one.outBytes ?? 0)}/s`;
  return typeof one.inBytes === "number" ? `${out} ↓ ${bytes(one.inBytes)}/s` : out;
}

// Draws one of `count` neighbours, and the edge to it.
function neighbour(one, index, count) {
  const angle = (2 * Math.PI * index) / count - Math.PI / 2;
  const [x, y] = [X + 230 * Math.cos(angle), Y + 105 * Math.sin(angle)];
  const group = shape("g", { class: one.why ? "slow" : "" });
  group.append(shape("title", {}, `${one.role} ${one.zid}: ${ratesOf(one)} ${one.why}`));
  group.append(shape("line", { x1: X, y1: Y, x2: x, y2: y }), shape("circle", { cx: x, cy: y, r: 8 }));
  if (count <= NAMED_MAX) {
    group.append(shape("text", { x, y: y + 22 }, `${one.role} ${one.zid.slice(0, 8)}`));
    group.append(shape("text", { x: (X + x) / 2, y: (Y + y) / 2 - 5 }, ratesOf(one)));
  }
  return group;
}

// Draws the first neighbours around the node. Returns the number of those that are left out.
export function drawGraph(svg, zid, neighbours) {
  const drawn = neighbours.slice(0, DRAWN_MAX);
  const groups = drawn.map((one, index) => neighbour(one, index, drawn.length));
  const own = [shape("circle", { cx: X, cy: Y, r: 13 }), shape("text", { x: X, y: Y + 30 }, zid.slice(0, 8))];
  svg.replaceChildren(...groups, ...own);
  return neighbours.length - drawn.length;
}
