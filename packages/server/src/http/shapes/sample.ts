// Values that the examples of several shapes share. The secrets have the right form, but give no
// access.

export const sample = {
  url: "https://ledger.example.com",
  origin: "ledger.example.com/ledgers/2c624232",
  time: "2026-01-31T09:30:00.250Z",
  later: "2026-02-07T09:30:00.250Z",
  id: "4cVx0Zp3QmT7a",
  receipt: "rcp_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  pack: "pack_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  erasure: "era_01KB8JQ5T9QKX4M3W2P7N6V5B4C3D2F1G0HJ",
  hash: "8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4",
  previousHash: "2c624232cc7dcd7a0d3b5b0e1b7d9ad1f5a3b6f3f7b2e6b1a5d2c8a1c4d7e9f0",
  vkey: "ledger.example.com/ledgers/2c624232+3f1a9c52+ARpc6dM1X0M4WQvY3Hc2m0h1pE8gqJb8Xl0bQ2mJ9T1c",
  email: "ada@example.com",
  password: "correct horse battery staple",
  secret: (letter: string): string => `ts${letter}_4cVx0Zp3QmT7a_${"0".repeat(49)}`,
} as const
