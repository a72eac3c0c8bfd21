// The command palette: Ctrl/⌘ K opens it, the server searches, arrows choose, Enter opens.

export function installPalette() {
  const dialog = document.getElementById("palette");
  if (!dialog) return;
  const input = document.getElementById("palette-input");
  const results = document.getElementById("palette-results");
  const items = () => [...results.querySelectorAll("[role=option]")];

  const open = () => {
    if (dialog.open) return;
    document.querySelector("dialog[open]")?.close();
    dialog.showModal();
    input.select();
    input.dispatchEvent(new Event("palette:open"));
  };
  const select = (item) => {
    for (const other of items()) other.setAttribute("aria-selected", String(other === item));
    if (!item) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", item.id);
    item.scrollIntoView({ block: "nearest" });
  };
  const move = (step) => {
    const all = items();
    if (!all.length) return;
    const at = all.findIndex((item) => item.getAttribute("aria-selected") === "true");
    select(all[(at + step + all.length) % all.length]);
  };

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  for (const link of document.querySelectorAll("[data-palette-open]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      open();
    });
  }
  dialog.querySelector("[data-palette-close]").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  results.addEventListener("htmx:afterSwap", () => select(items()[0]));
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Enter") results.querySelector("[aria-selected=true]")?.click();
    else return;
    event.preventDefault();
  });
}
