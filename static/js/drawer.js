// The navigation as a drawer on narrow screens, and <details> menus that close as menus do.

export function installDrawer() {
  const nav = document.getElementById("nav");
  const open = document.querySelector("[data-nav-open]");
  if (!nav || !open) return;

  const set = (shown) => {
    nav.toggleAttribute("data-open", shown);
    open.setAttribute("aria-expanded", String(shown));
    document.querySelector(".frame").inert = shown;
    if (shown) nav.querySelector("a[href]:not(.brand)").focus();
    else open.focus();
  };
  open.addEventListener("click", (event) => {
    event.preventDefault();
    set(true);
  });
  for (const close of document.querySelectorAll("[data-nav-close]")) {
    close.addEventListener("click", (event) => {
      event.preventDefault();
      set(false);
    });
  }
  nav.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && nav.hasAttribute("data-open")) set(false);
  });
  // a window that grows past the drawer's width must not stay inert
  matchMedia("(min-width: 861px)").addEventListener("change", (query) => {
    if (query.matches && nav.hasAttribute("data-open")) set(false);
  });
}

export function installMenus() {
  const openMenus = () => document.querySelectorAll("details[data-menu][open]");
  document.addEventListener("click", (event) => {
    for (const menu of openMenus()) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of openMenus()) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  });
}
