// Loaded before the page is drawn, so that whoever chose a theme does not see the other one flash.
// Nothing is imported: it stands by itself in the head of each page.

try {
  const theme = localStorage.getItem("tallystick theme")
  if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme
} catch {
  // A browser that keeps nothing follows the system.
}
