// A click on what stands for a micro-kernel shows it; a click on a column's head sorts by it. Texts are set as text, never as HTML.
"use strict";
const details = JSON.parse(document.getElementById("details").textContent);
const panel = document.getElementById("panel");

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

function table(rows) {
  const made = element("table");
  const head = made.createTHead().insertRow();
  for (const name of ["Instance", "On", "GFLOP/s", "± IQR"]) head.append(element("th", name));
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const cell of row) line.append(element("td", cell));
  }
  return made;
}

function listing(name, text, isOpen) {
  const made = element("details", undefined, name.toLowerCase());
  made.open = isOpen;
  made.append(element("summary", name), element("pre", text));
  return made;
}

function show(key) {
  const kernel = details[key];
  if (!kernel) return;
  const close = element("button", "Close", "close");
  close.addEventListener("click", () => panel.close());
  panel.replaceChildren(close, element("h2", kernel.name), element("p", kernel.about, "sub"), table(kernel.figures));
  panel.append(listing("Trace", kernel.trace ?? "Left out: a page holds the traces of the fastest micro-kernels. `dietcode records --all --json -` has all.", true));
  panel.append(listing("Source", kernel.source ?? "Left out: a page holds the sources of the micro-kernels that have a letter.", kernel.source !== undefined));
  if (!panel.open) panel.showModal();
  panel.scrollTop = 0;
}

function sort(head) {
  const column = [...head.parentNode.children].indexOf(head);
  const ascending = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  const body = head.closest("table").tBodies[0];
  const value = (row) => row.cells[column].dataset.v ?? row.cells[column].textContent;
  const compare = (a, b) => {
    const [one, other] = [Number(a), Number(b)];
    return Number.isNaN(one) || Number.isNaN(other) ? a.localeCompare(b, "en", { numeric: true }) : one - other;
  };
  const rows = [...body.rows].sort((a, b) => compare(value(a), value(b)) * (ascending ? 1 : -1));
  body.append(...rows);
}

document.addEventListener("click", (event) => {
  const kernel = event.target.closest("[data-kernel]");
  if (kernel) show(kernel.dataset.kernel);
  else if (event.target === panel) panel.close();
  const head = event.target.closest("table.sortable th");
  if (head && head.closest("thead")) sort(head);
});

// What the pointer rests on stands out in the charts around it.
let inFront = null;
document.addEventListener("pointerover", (event) => {
  const key = event.target.closest("[data-kernel]")?.dataset.kernel ?? null;
  if (key === inFront) return;
  inFront = key;
  for (const drawn of document.querySelectorAll(".chart [data-kernel]")) {
    drawn.classList.toggle("faded", key !== null && drawn.dataset.kernel !== key);
  }
});

for (const head of document.querySelectorAll("table.sortable thead th")) {
  head.tabIndex = 0;
  head.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      sort(head);
    }
  });
}
