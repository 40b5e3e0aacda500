// SPDX-License-Identifier: MIT OR Apache-2.0
// Rates of links, neighbours and drops, computed from two updates.

const isNumber = (value) => typeof value === "number";

// Returns a number of bytes as text.
export const bytes = (n) => n < 1e3 ? `${Math.round(n)} B` : n < 1e6 ? `${(n / 1e3).toFixed(1)} kB` : `${(n / 1e6).toFixed(1)} MB`;

// Returns messages and bytes a second as text; a dash for a rate that the node does not count.
export function flow(messages, inBytes) {
  if (!isNumber(messages) && !isNumber(inBytes)) return "–";
  const texts = [];
  if (isNumber(messages)) texts.push(`${Math.round(messages)}/s`);
  if (isNumber(inBytes)) texts.push(`${bytes(inBytes)}/s`);
  return texts.join(", ");
}

// Returns the seconds between two updates; 0 without the first.
function secondsBetween(before, now) {
  return before ? Math.max((now.at_ms - before.at_ms) / 1000, 0.001) : 0;
}

// Returns how fast a counter grows; null if the node does not have it.
function growth(was, now, name, seconds) {
  if (!isNumber(now[name])) return null;
  return was && isNumber(was[name]) && seconds > 0 ? Math.max(now[name] - was[name], 0) / seconds : 0;
}

// Returns the reasons for which a neighbour counts as slow; an empty text if it keeps up.
function slowness(was, link, full, dropped) {
  const why = [];
  if (was && was.queued > 0 && link.queued > 0 && link.sent === was.sent) why.push(`${link.queued} wait and none was sent`);
  if (full > 0) why.push(`queue full ${Math.round(full)}/s`);
  if (dropped > 0) why.push(`${Math.round(dropped)}/s dropped`);
  return why.join(", ");
}

// Orders slow ones first, then those with the highest rate.
function slowFirst(a, b) {
  return (b.why !== "") - (a.why !== "") || b.all - a.all || (a.zid < b.zid ? -1 : 1);
}

// Returns the links of an update with their rates.
export function linksOf(before, now) {
  const seconds = secondsBetween(before, now);
  const name = (link) => `${link.zid} ${link.local} ${link.remote}`;
  const old = new Map((before?.links ?? []).map((link) => [name(link), link]));
  return now.links.map((link) => {
    const was = old.get(name(link));
    const rate = (counter) => growth(was, link, counter, seconds);
    const rates = { out: rate("sent"), outBytes: rate("sent_bytes"), in: rate("received"), inBytes: rate("received_bytes") };
    const why = slowness(was, link, rate("full"), rate("dropped"));
    return { ...link, ...rates, all: (rates.outBytes ?? 0) + (rates.inBytes ?? 0), why };
  }).sort(slowFirst);
}

// Returns the sum of two rates, either of which may not be counted.
const added = (a, b) => isNumber(a) && isNumber(b) ? a + b : a ?? b;

// Returns the neighbours that links lead to, each with the sum of its links.
export function neighboursOf(links) {
  const all = new Map();
  for (const link of links) {
    const known = all.get(link.zid);
    if (!known) {
      all.set(link.zid, { ...link });
      continue;
    }
    for (const rate of ["out", "outBytes", "in", "inBytes", "all"]) known[rate] = added(known[rate], link[rate]);
    known.why ||= link.why;
  }
  return [...all.values()].sort(slowFirst);
}

// Returns the messages that filters have dropped, those that they drop now first.
export function dropsOf(before, now) {
  const seconds = secondsBetween(before, now);
  const name = (drop) => `${drop.filter} ${drop.what}`;
  const old = new Map((before?.drops ?? []).map((drop) => [name(drop), drop]));
  const drops = now.drops.map((drop) => {
    const was = old.get(name(drop)) ?? { count: 0 };
    return { ...drop, rate: before ? growth(was, drop, "count", seconds) : 0 };
  });
  return drops.sort((a, b) => b.rate - a.rate || b.count - a.count || (name(a) < name(b) ? -1 : 1));
}
