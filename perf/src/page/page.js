// What is unchecked is hidden: every part of the page that has the box's value in the box's group.
const boxes = [...document.querySelectorAll("input[type=checkbox]")];
function filter() {
  const off = boxes.filter(b => !b.checked);
  for (const part of document.querySelectorAll("[data-part]"))
    part.classList.toggle("is-hidden", off.some(b => part.dataset[b.name] === b.value));
}
for (const box of boxes) box.addEventListener("change", filter);
filter();
