// Loaded before the page is drawn, so that the other theme does not flash. It imports nothing,
// because it is a script of its own in the head of each page.

try {
  const theme = localStorage.getItem("tallystick theme")
  if (theme === "light" || theme === "dark") document.documentElement.dataset["theme"] = theme
} catch {
  // If the browser stores nothing, the theme follows the system.
}
