// SPDX-License-Identifier: MIT OR Apache-2.0
// The drawing of a node and its neighbours.

const DRAWN_MAX = 32;
const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// Draws the neighbours of the first links around the node.
export function drawGraph(svg, zid, links, bytes) {
  const byZid = new Map();
  for (const link of links) {
    const known = byZid.get(link.zid);
    if (known) {
      known.bytesRate += link.bytesRate;
      known.why ||= link.why;
    } else {
      byZid.set(link.zid, { ...link });
    }
  }
  const drawn = [...byZid.values()].slice(0, DRAWN_MAX);
  const groups = drawn.map((one, index) => {
    const angle = (2 * Math.PI * index) / drawn.length;
    const [x, y] = [300 + 230 * Math.cos(angle), 145 + 105 * Math.sin(angle)];
    const group = shape("g", { class: one.why ? "slow" : "" });
    group.append(shape("line", { x1: 300, y1: 145, x2: x, y2: y }), shape("circle", { cx: x, cy: y, r: 8 }));
    group.append(shape("title", {}, `${one.role} ${one.zid} ${one.why}`));
    if (drawn.length <= 16) {
      group.append(shape("text", { x, y: y + 22 }, `${one.role} ${one.zid.slice(0, 8)}`));
      group.append(shape("text", { x: (300 + x) / 2, y: (145 + y) / 2 - 5 }, `${bytes(one.bytesRate)}/s`));
    }
    return group;
  });
  const own = [shape("circle", { cx: 300, cy: 145, r: 13 }), shape("text", { x: 300, y: 175 }, zid.slice(0, 8))];
  svg.replaceChildren(...groups, ...own);
}
