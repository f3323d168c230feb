// What is used of node:http. Not by an import: that reads every name that the module has, and one
// of them loads a whole client, at a tenth of what a start costs the main thread.

export const { createServer, ServerResponse, STATUS_CODES } = process.getBuiltinModule("node:http")
