// A test aid: limits of a server, which a test changes in part.

import { defaultLimits, type Limits } from "../limits.ts"

export const testLimits: Limits = {
  ...defaultLimits,
  keepAliveTimeoutMs: 5_000,
  connectionsMax: 1000,
  pipelinedMax: 20,
  unreadBytesMax: 1_000_000,
  eventBytesMax: 1000,
  contextCharactersMax: 100,
}
