// SPDX-License-Identifier: MIT OR Apache-2.0
// Rows of a long list: only those in sight, and some around them, are elements.

const AROUND = 4;

// Returns an element for the rows that are left out.
function spacer() {
  const element = document.createElement("div");
  element.setAttribute("aria-hidden", "true");
  return element;
}

// Shows items in `body`, within `list`, which scrolls. Each row is `height` pixels high. Returns the
// function that takes other items.
export function rowsIn(list, body, height, rowOf) {
  const [above, below] = [spacer(), spacer()];
  let items = [], isDue = false, drawn = new Map();

  // Puts the rows in sight into the list. Those that were there stay as they are.
  function draw() {
    isDue = false;
    const inSight = Math.ceil(list.clientHeight / height) + 2 * AROUND;
    const top = Math.floor(list.scrollTop / height) - AROUND;
    const first = Math.max(Math.min(top, items.length - inSight), 0);
    const shown = new Map();
    for (let at = first; at < Math.min(first + inSight, items.length); at += 1) shown.set(at, drawn.get(at) ?? rowOf(items[at], at));
    above.style.height = `${first * height}px`;
    below.style.height = `${(items.length - first - shown.size) * height}px`;
    for (const [at, row] of drawn) if (shown.get(at) !== row) row.remove();
    let next = below;
    for (const row of [...shown.values()].reverse()) {
      if (row.nextSibling !== next || row.parentNode !== body) body.insertBefore(row, next);
      next = row;
    }
    drawn = shown;
  }

  // Draws before the next frame.
  function due() {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(draw);
  }

  body.replaceChildren(above, below);
  list.addEventListener("scroll", due, { passive: true });
  return (others) => {
    items = others;
    for (const row of drawn.values()) row.remove();
    drawn = new Map();
    due();
  };
}
