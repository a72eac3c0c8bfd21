// Single-key shortcuts (switchable, WCAG 2.1.4), the list of them, and the name of the modifier key.

const typing = (target) => target.closest("input, select, textarea, [contenteditable], [data-keys]") !== null;

export function installShortcuts() {
  const dialog = document.getElementById("shortcuts");
  if (/Mac|iPhone|iPad/.test(navigator.platform)) {
    for (const key of document.querySelectorAll("[data-mod-key]")) key.textContent = "⌘ K";
  }
  if (!dialog) return;
  for (const button of document.querySelectorAll("[data-shortcuts-open]")) {
    button.addEventListener("click", () => dialog.showModal());
  }
  if (document.documentElement.dataset.shortcuts !== "on") return;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]")) return;
    if (event.key === "?") dialog.showModal();
    else if (event.key === "/") toSearch();
    else return;
    event.preventDefault();
  });
}

function toSearch() {
  const list = document.querySelector("[data-list-search]");
  if (list) list.focus();
  else document.querySelector("[data-palette-open]")?.click();
}
