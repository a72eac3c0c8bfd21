// Swagger UI is dark where the console is: its own style sheet knows the class.
const chosen = document.querySelector("meta[name=theme]")?.content;
const system = matchMedia("(prefers-color-scheme: dark)");

function show() {
  document.documentElement.classList.toggle("dark-mode", chosen === "dark" || (chosen !== "light" && system.matches));
}

system.addEventListener("change", show);
show();
