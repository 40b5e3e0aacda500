// SPDX-License-Identifier: MIT OR Apache-2.0
// Forms that send requests, and where their answers are shown.

// Returns the element with this id.
export const find = (id) => document.getElementById(id);

// Returns the path of a key or selector.
export function pathOf(selector) {
  const at = selector.indexOf("?");
  const key = at < 0 ? selector : selector.slice(0, at);
  const path = "/" + key.split("/").map(encodeURIComponent).join("/");
  return at < 0 ? path : path + "?" + selector.slice(at + 1);
}

// Shows a text, in red if it is an error.
export function told(place, text, isError) {
  place.textContent = text;
  place.classList.toggle("error", Boolean(isError));
}

// Calls `send` with the fields of a form when it is submitted, and shows what it returns or throws.
export function onSubmit(form, place, send) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      told(place, await send(new FormData(form)));
    } catch (error) {
      told(place, error.message, true);
    }
  });
}

// Returns the text of an answer; throws it if the request was refused.
export async function textOf(path, request) {
  const answer = await fetch(path, request);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${answer.status}: ${text}`);
  return text;
}

// Sends a query, and returns the replies in lines.
async function query(fields) {
  const text = await textOf(pathOf(fields.get("selector")), { headers: { accept: "application/json" } });
  return JSON.stringify(JSON.parse(text), null, 2);
}

// Publishes a value.
async function publish(fields) {
  const headers = { "content-type": fields.get("encoding") || "text/plain" };
  await textOf(pathOf(fields.get("key")), { method: "PUT", headers, body: fields.get("value") });
  return "published";
}

// Opens the form for publications, or shows why the server takes none from this page.
export function allowPublishing(isAllowed) {
  find("publish-fields").disabled = !isAllowed;
  find("publish-closed").hidden = isAllowed;
}

// Starts the forms for queries and publications.
export function startForms() {
  onSubmit(find("query"), find("replies"), query);
  onSubmit(find("publish"), find("published"), publish);
}
