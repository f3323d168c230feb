import { residentMbOf } from "../metrics.ts"
import type { Service, Workspace } from "../service.ts"

export interface Exported {
  readonly bytes: number
  /** The most memory that the service used while the export was read. */
  readonly residentMb: number
}

/** Reads an export to its end, and looks at the service's memory again and again. */
export async function exportAll(
  service: Service,
  { path, reader }: Workspace,
  format: string,
  after = 0,
): Promise<Exported> {
  const query = `storage=all&format=${format}&after=${after}`
  const answer = await fetch(`${service.url}${path}/events/export?${query}`, {
    headers: { authorization: `Bearer ${reader.bearer}` },
  })
  if (!answer.ok || answer.body === null) throw new Error(`no export: ${answer.status}`)
  let [bytes, looked, residentMb] = [0, 0, 0]
  for await (const chunk of answer.body) {
    bytes += chunk.length
    if (bytes - looked < bytesBetween) continue
    looked = bytes
    residentMb = Math.max(residentMb, await residentMbOf(service))
  }
  return { bytes, residentMb: Math.max(residentMb, await residentMbOf(service)) }
}

const bytesBetween = 4 * 1024 * 1024
