// SPDX-License-Identifier: MIT OR Apache-2.0
// The last lines of the log.

import { find, told } from "/@page/forms.js";

const LINES_MAX = 200;

// Returns the element of a line.
function lineOf({ at_ms, level, target, text }) {
  const line = document.createElement("div");
  line.classList.toggle("error", level === "ERROR" || level === "WARN");
  line.textContent = `${new Date(at_ms).toISOString().slice(11, 23)} ${level} ${target}: ${text}`;
  return line;
}

// Adds lines at the end, which stays in sight if it was; the oldest lines leave.
function add(list, lines) {
  const wasAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 20;
  list.append(...lines.map(lineOf));
  while (list.children.length > LINES_MAX) list.firstChild.remove();
  if (wasAtEnd) list.scrollTop = list.scrollHeight;
}

// Shows the lines that come with updates. After a lost connection the server begins anew.
export function startLog(updates) {
  const list = find("log");
  updates.addEventListener("open", () => list.replaceChildren());
  updates.addEventListener("log", (event) => {
    const { lines, denied } = JSON.parse(event.data);
    told(find("log-state"), denied ? `The log is not shown: ${denied}` : "", Boolean(denied));
    add(list, lines ?? []);
  });
}
