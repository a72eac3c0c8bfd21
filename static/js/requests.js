// Background requests (htmx): when a poll is due, and when an answer is put in.

// a refresh never closes a menu that someone is reading, nor takes a field away from under their typing
const busy = (element) => element.querySelector("details[data-menu][open], .menu-panel :focus") !== null;

export function installRequests() {
  const body = document.body;

  // a hidden tab asks for nothing: a poll that comes due is dropped, the next visible one catches up
  body.addEventListener("htmx:beforeRequest", (event) => {
    const polls = (event.detail.elt.getAttribute("hx-trigger") || "").includes("every");
    if (polls && document.hidden) event.preventDefault();
  });

  // the server does not take a refresh for something that the person did (console/accounts/middleware.py)
  body.addEventListener("htmx:configRequest", (event) => {
    const polls = (event.detail.elt.getAttribute("hx-trigger") || "").includes("every");
    if (polls) event.detail.headers["X-Weir-Poll"] = "1";
  });

  for (const name of ["htmx:beforeSwap", "htmx:oobBeforeSwap"]) {
    body.addEventListener(name, (event) => {
      if (busy(event.detail.target)) event.detail.shouldSwap = false;
    });
  }

  // errors of background requests are said, never swallowed
  body.addEventListener("htmx:sendError", () => body.toggleAttribute("data-offline", true));
  body.addEventListener("htmx:afterOnLoad", () => body.toggleAttribute("data-offline", false));
}
