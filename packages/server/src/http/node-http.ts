// The parts of node:http that we use. An `import` would read every name of the module, and one of
// them loads a whole HTTP client: a tenth of the main thread's time at a start.

export const { createServer, ServerResponse, STATUS_CODES } = process.getBuiltinModule("node:http")
