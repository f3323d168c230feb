// What the machine has by itself: npm and the tests put the clone's own programs first.

export const machinePath = (process.env["PATH"] ?? "")
  .split(":")
  .filter((folder) => !folder.includes("node_modules"))
  .join(":")
