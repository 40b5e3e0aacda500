// SPDX-License-Identifier: MIT OR Apache-2.0
// The live page. Texts of the network become text nodes only.

import { offerIds, startExplain } from "/@page/explain.js";
import { allowPublishing, find, startForms, told } from "/@page/forms.js";
import { drawGraph } from "/@page/graph.js";
import { startKeys } from "/@page/keys.js";
import { startLog } from "/@page/log.js";
import { bytes, dropsOf, flow, linksOf, neighboursOf } from "/@page/rates.js";
import { rowsIn } from "/@page/rows.js";

const ROW = 30;
const DROPS_MAX = 200;
const TALKERS_MAX = 5;

// Returns a row of a table with these texts.
function row(texts, isSlow) {
  const tr = document.createElement("tr");
  tr.classList.toggle("slow", isSlow);
  for (const text of texts) tr.insertCell().textContent = text;
  return tr;
}

// Returns an element with this role and text.
function roleOf(tag, role, text) {
  const element = document.createElement(tag);
  element.setAttribute("role", role);
  element.textContent = text;
  return element;
}

// Most characters in the columns of a link; the style sheet has the widths.
const COLUMNS = [29, 9, 19, 19, 19, 9, 9, 27, 33];

// Returns a text that is not longer than its column.
function cut(text, length) {
  const whole = String(text);
  return whole.length > length ? whole.slice(0, length - 1) + "…" : whole;
}

// Returns the row of a link.
function linkRow(link) {
  const waiting = `${link.queued} (${bytes(link.queued_bytes)})`;
  const rates = [flow(link.out, link.outBytes), flow(link.in, link.inBytes)];
  const texts = [link.why || "ok", link.role, ...rates, waiting, link.dropped, link.full, link.remote, link.zid];
  const row = roleOf("div", "row", "");
  row.classList.toggle("slow", link.why !== "");
  row.append(...texts.map((text, column) => roleOf("span", "cell", cut(text, COLUMNS[column]))));
  row.title = `${link.why} ${link.zid} ${link.remote}`;
  return row;
}

// Draws the messages that filters have dropped.
function drawDrops() {
  const drops = dropsOf(before, latest);
  const texts = (drop) => [drop.filter, drop.what, `${Math.round(drop.rate)}/s`, drop.count];
  find("drops").replaceChildren(...drops.slice(0, DROPS_MAX).map((drop) => row(texts(drop), drop.rate > 0)));
  find("no-drops").textContent = drops.length === 0 ? "No filter has dropped a message." : "";
}

// Draws the neighbours and the keys with the highest rates.
function drawTalkers(neighbours) {
  const loud = neighbours.filter((one) => one.all > 0).sort((a, b) => b.all - a.all).slice(0, TALKERS_MAX);
  const rows = loud.map((one) => row([`${one.role} ${one.zid}`, flow(one.out, one.outBytes), flow(one.in, one.inBytes)], false));
  const loudest = keys.talkers(TALKERS_MAX);
  rows.push(...loudest.map((one) => row([`key ${one.key}`, "", flow(one.rate, one.bytesRate)], false)));
  find("talkers").replaceChildren(...rows);
  find("no-talkers").textContent = rows.length === 0 ? "Nothing is sent now." : "";
}

// Tells what the drawing and the list leave out.
function leftOut(undrawn, unlisted) {
  const texts = [];
  if (undrawn > 0) texts.push(`${undrawn} neighbours are not drawn; the table has them.`);
  if (unlisted > 0) texts.push(`${unlisted} links are left out.`);
  if (latest.links.length === 0) texts.push("No neighbour yet.");
  return texts.join(" ");
}

const keys = startKeys();
const showLinks = rowsIn(find("links-list"), find("links"), ROW, linkRow);
let before, latest, isDue = false;

// Draws the latest update.
function draw() {
  isDue = false;
  const links = linksOf(before, latest);
  const neighbours = neighboursOf(links);
  find("zid").textContent = latest.zid;
  find("count").textContent = `(${neighbours.length})`;
  // As high as few rows need, with room for the head and the scroll bar.
  find("links-list").style.height = `min(22rem, ${(links.length + 1) * ROW + 20}px)`;
  showLinks(links);
  drawDrops();
  drawTalkers(neighbours);
  offerIds(neighbours);
  allowPublishing(latest.may_publish);
  const undrawn = drawGraph(find("graph"), latest.zid, neighbours);
  find("more").textContent = leftOut(undrawn, latest.links_left_out ?? 0);
}

const updates = new EventSource("/@page/updates");
updates.onmessage = (event) => {
  before = latest;
  latest = JSON.parse(event.data);
  told(find("state"), "live");
  if (!isDue) {
    isDue = true;
    requestAnimationFrame(draw);
  }
};
updates.onerror = () => told(find("state"), "connection lost; trying again", true);
startForms();
startExplain();
startLog(updates);
