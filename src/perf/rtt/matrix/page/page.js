// What is unchecked is hidden: whole sections, or one framework's lines in all of them.
const boxes = [...document.querySelectorAll("input[type=checkbox]")];
const isWanted = (name, value) => boxes.every(b => b.dataset[name] !== value || b.checked);
const show = (element, wanted) => element.classList.toggle("is-hidden", !wanted);
function filter() {
  for (const s of document.querySelectorAll("section"))
    show(s, ["transport", "pacing", "tasks"].every(name => isWanted(name, s.dataset[name])));
  for (const g of document.querySelectorAll("g[data-framework]"))
    show(g, isWanted("framework", g.dataset.framework));
}
for (const box of boxes) box.addEventListener("change", filter);
filter();
