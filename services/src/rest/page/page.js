// SPDX-License-Identifier: MIT OR Apache-2.0
// The live page. Texts of the network become text nodes only.

import { drawGraph } from "/@page/graph.js";
import { startKeys } from "/@page/keys.js";

const ROWS_MAX = 200;
const find = (id) => document.getElementById(id);

// Returns the path of a key or selector.
function pathOf(selector) {
  const at = selector.indexOf("?");
  const key = at < 0 ? selector : selector.slice(0, at);
  const path = "/" + key.split("/").map(encodeURIComponent).join("/");
  return at < 0 ? path : path + "?" + selector.slice(at + 1);
}

function told(place, text, isError) {
  place.textContent = text;
  place.classList.toggle("error", Boolean(isError));
}

const bytes = (n) => n < 1e3 ? `${Math.round(n)} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;

// Adds rates and the reason of slowness, from two updates.
function compared(before, now) {
  const seconds = before ? Math.max((now.at_ms - before.at_ms) / 1000, 0.001) : 0;
  const old = new Map((before?.links ?? []).map((link) => [link.local + " " + link.remote, link]));
  return now.links.map((link) => {
    const was = old.get(link.local + " " + link.remote);
    const rate = (name) => was ? Math.max(link[name] - was[name], 0) / seconds : 0;
    const why = [];
    if (was && was.queued > 0 && link.queued > 0 && link.sent === was.sent) why.push(`${link.queued} wait and none was sent`);
    if (rate("full") > 0) why.push(`queue full ${Math.round(rate("full"))}/s`);
    if (rate("dropped") > 0) why.push(`${Math.round(rate("dropped"))}/s dropped`);
    return { ...link, bytesRate: rate("sent_bytes"), rate: rate("sent"), why: why.join(", ") };
  }).sort((a, b) => (b.why !== "") - (a.why !== "") || b.bytesRate - a.bytesRate || (a.zid < b.zid ? -1 : 1));
}

function row(link) {
  const tr = document.createElement("tr");
  tr.classList.toggle("slow", link.why !== "");
  const sent = `${Math.round(link.rate)}/s, ${bytes(link.bytesRate)}/s`;
  const waiting = `${link.queued} (${bytes(link.queued_bytes)})`;
  for (const text of [link.why || "ok", link.role, sent, waiting, link.dropped, link.full, link.remote, link.zid]) {
    tr.insertCell().textContent = text;
  }
  return tr;
}

// Draws the messages that filters have dropped, those that they drop now first.
function drawDrops() {
  const seconds = before ? Math.max((latest.at_ms - before.at_ms) / 1000, 0.001) : 0;
  const name = (drop) => drop.filter + " " + drop.what;
  const old = new Map((before?.drops ?? []).map((drop) => [name(drop), drop.count]));
  const drops = latest.drops.map((drop) => {
    const rate = before ? Math.max(drop.count - (old.get(name(drop)) ?? 0), 0) / seconds : 0;
    return { ...drop, rate };
  }).sort((a, b) => b.rate - a.rate || b.count - a.count || (name(a) < name(b) ? -1 : 1));
  find("drops").replaceChildren(...drops.slice(0, ROWS_MAX).map((drop) => {
    const tr = document.createElement("tr");
    tr.classList.toggle("slow", drop.rate > 0);
    for (const text of [drop.filter, drop.what, `${Math.round(drop.rate)}/s`, drop.count]) tr.insertCell().textContent = text;
    return tr;
  }));
  find("no-drops").textContent = drops.length === 0 ? "No filter has dropped a message." : "";
}

let before, latest, isDue = false;

function draw() {
  isDue = false;
  const links = compared(before, latest);
  find("zid").textContent = latest.zid;
  find("count").textContent = `(${new Set(links.map((link) => link.zid)).size})`;
  find("links").replaceChildren(...links.slice(0, ROWS_MAX).map(row));
  const more = links.length - ROWS_MAX;
  find("more").textContent = links.length === 0 ? "No neighbour yet." : more > 0 ? `${more} more links, none of them slower.` : "";
  drawDrops();
  drawGraph(find("graph"), latest.zid, links, bytes);
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

find("query").addEventListener("submit", async (event) => {
  event.preventDefault();
  const selector = new FormData(event.target).get("selector");
  try {
    const answer = await fetch(pathOf(selector), { headers: { accept: "application/json" } });
    const text = await answer.text();
    told(find("replies"), answer.ok ? JSON.stringify(JSON.parse(text), null, 2) : text, !answer.ok);
  } catch (error) {
    told(find("replies"), String(error), true);
  }
});

find("publish").addEventListener("submit", async (event) => {
  event.preventDefault();
  const data = new FormData(event.target);
  try {
    const headers = { "content-type": data.get("encoding") || "text/plain" };
    const answer = await fetch(pathOf(data.get("key")), { method: "PUT", headers, body: data.get("value") });
    told(find("published"), answer.ok ? "published" : `${answer.status}: ${await answer.text()}`, !answer.ok);
  } catch (error) {
    told(find("published"), String(error), true);
  }
});

startKeys(find, pathOf, told);
