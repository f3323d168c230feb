// A test aid: limits of a server, which a test changes in part.

export const testLimits = {
  uriBytesMax: 8192,
  headersBytesMax: 16_384,
  headersTimeoutMs: 10_000,
  bodyTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  stillTimeoutMs: 60_000,
  connectionsMax: 1000,
  pipelinedMax: 20,
  pipelinedAtOnceMax: 1000,
  requestsPerTurn: 64,
  answerBytesPerSecondMin: 1024,
  unreadBytesMax: 1_000_000,
  drainTimeoutMs: 8_000,
  depthMax: 32,
  stringBytesMax: 65_536,
  eventBytesMax: 1000,
  contextCharactersMax: 100,
}
