// The frame's behaviour: drawer, menus, palette, shortcuts, relative times. Every page works without it.
import { installPalette } from "./palette.js";
import { installDrawer, installMenus } from "./drawer.js";
import { installTimes } from "./times.js";
import { installShortcuts } from "./shortcuts.js";

installDrawer();
installMenus();
installPalette();
installShortcuts();
installTimes();

// a hidden tab asks for nothing: a poll that comes due is dropped, the next visible one catches up
document.body.addEventListener("htmx:beforeRequest", (event) => {
  const polls = (event.detail.elt.getAttribute("hx-trigger") || "").includes("every");
  if (polls && document.hidden) event.preventDefault();
});

// a refresh never closes a menu that someone is reading, nor takes a field away from under their typing
const busy = (element) => element.querySelector("details[data-menu][open], .menu-panel :focus") !== null;
for (const name of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) {
  document.body.addEventListener(name, (event) => {
    if (busy(event.detail.target)) event.detail.shouldSwap = false;
  });
}

// errors of background requests are said, never swallowed
document.body.addEventListener("htmx:sendError", () => document.body.toggleAttribute("data-offline", true));
document.body.addEventListener("htmx:afterOnLoad", () => document.body.toggleAttribute("data-offline", false));

// the server renders times in this zone until the account chooses another
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone && !document.cookie.includes("weir_zone=")) {
  document.cookie = `weir_zone=${encodeURIComponent(zone)}; path=/; max-age=31536000; samesite=lax`;
}

// a form that must not be sent twice by a double click
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-once]")) return;
  if (event.target.dataset.sent) return event.preventDefault();
  event.target.dataset.sent = "1";
  setTimeout(() => delete event.target.dataset.sent, 4000);
});
