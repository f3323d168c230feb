// Random tests that make a short run in `npm test`, here with many rounds.

Object.assign(process.env, { SEEDS: "3000", ROUNDS: "60", SHAPES: "100", SCENARIOS: "all" })
await import("../packages/server/src/ledger/simulation.test.ts")
await import("../packages/server/src/operator/expiry-model.test.ts")
await import("./promises/stalls.test.ts")
await import("./postgres/engine.test.ts")
await import("./postgres/killed-at-step.test.ts")
