// The frame's behaviour: drawer, menus, palette, shortcuts, relative times. Every page works without it.
import { installPalette } from "./palette.js";
import { installDrawer, installMenus } from "./drawer.js";
import { installTimes } from "./times.js";
import { installShortcuts } from "./shortcuts.js";
import { installRequests } from "./requests.js";

installDrawer();
installMenus();
installPalette();
installShortcuts();
installTimes();
installRequests();

// a form that must not be sent twice by a double click
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-once]")) return;
  if (event.target.dataset.sent) return event.preventDefault();
  event.target.dataset.sent = "1";
  setTimeout(() => delete event.target.dataset.sent, 4000);
});
