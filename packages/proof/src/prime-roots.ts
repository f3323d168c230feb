/**
 * The first 64 fractional bits of square and cube roots of the first primes. They are the constants
 * of SHA-512, and their first 32 bits those of SHA-256. They are computed once, with integers,
 * because digits compress badly and a page would have to load them.
 */
export type PrimeRoots = {
  /** Square roots of the first 8 primes. */
  readonly square: readonly bigint[]
  /** Cube roots of the first 80 primes. */
  readonly cube: readonly bigint[]
}

let known: PrimeRoots | undefined

export function primeRoots(): PrimeRoots {
  return (known ??= computed())
}

function computed(): PrimeRoots {
  const primes: number[] = []
  for (let n = 2; primes.length < 80; n++)
    if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  const behindPoint = (degree: number) => (prime: number) =>
    BigInt.asUintN(64, rootOf(BigInt(prime) << BigInt(64 * degree), BigInt(degree)))
  return { square: primes.slice(0, 8).map(behindPoint(2)), cube: primes.map(behindPoint(3)) }
}

/**
 * The largest whole number whose power is not above the value. A root of the primes up to 409, and
 * 64 bits, has 69 bits at most.
 */
function rootOf(value: bigint, degree: bigint): bigint {
  let root = 0n
  for (let bit = 1n << 69n; bit > 0n; bit >>= 1n) if ((root | bit) ** degree <= value) root |= bit
  return root
}
