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

// the server renders times in this zone until the account chooses another
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const zoneCookie = `weir_zone=${encodeURIComponent(zone)}`;
if (zone && !document.cookie.split("; ").includes(zoneCookie)) {
  document.cookie = `${zoneCookie}; path=/; max-age=31536000; samesite=lax`;
}

// a form that must not be sent twice by a double click
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-once]")) return;
  if (event.target.dataset.sent) return event.preventDefault();
  event.target.dataset.sent = "1";
  setTimeout(() => delete event.target.dataset.sent, 4000);
});
