// What HTTP calls its statuses. Not by an import: that reads every name that node:http has, and one
// of them loads a whole client, at a tenth of what a start costs the main thread.

const { STATUS_CODES } = process.getBuiltinModule("node:http")

export function statusPhrase(status: number | string): string | undefined {
  return STATUS_CODES[status]
}
