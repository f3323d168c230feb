#!/usr/bin/env node
// The command. In plain JavaScript, because what it does must be done before the first file with types is read.

import { enableCompileCache } from "node:module"
import { join } from "node:path"
import { setFlagsFromString } from "node:v8"

// What a request leaves behind is soon garbage, but V8 would let it quadruple the heap before it looks: half as much again is plenty.
setFlagsFromString("--heap-growing-percent=25")
// Not --max-semi-space-size: 32 MiB is what this thread has anyway, and for the other threads the flag would override their own limit.

// Code is compiled, and types are taken out of it, once and not at every start in each of six threads, where the means to do so would stay
// in memory. Threads find the folder in the environment; where it cannot be written, everything goes on without it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, "..", ".cache")
enableCompileCache(process.env.NODE_COMPILE_CACHE)

await import("../src/main.ts")
