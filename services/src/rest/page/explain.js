// SPDX-License-Identifier: MIT OR Apache-2.0
// The form that asks for the way of a message.

import { find, onSubmit, textOf } from "/@page/forms.js";

const NAMED_MAX = 100;

// Asks for the way of a message, and returns it in lines.
async function explain(fields) {
  const given = ["key", "from", "to", "kind"].filter((name) => fields.get(name).trim());
  const parameters = given.map((name) => `${name}=${encodeURIComponent(fields.get(name).trim())}`);
  const text = await textOf(`/@page/explain?${parameters.join("&")}`);
  return JSON.parse(text).lines.join("\n");
}

// Offers the ids of neighbours in the fields of the form.
export function offerIds(neighbours) {
  const ids = neighbours.slice(0, NAMED_MAX).map((one) => one.zid).sort();
  const list = find("ids");
  const isSame = list.children.length === ids.length && ids.every((id, at) => list.children[at].value === id);
  if (isSame) return;
  list.replaceChildren(...ids.map((id) => {
    const option = document.createElement("option");
    option.value = id;
    return option;
  }));
}

// Starts the form.
export function startExplain() {
  onSubmit(find("explain"), find("way"), explain);
}
