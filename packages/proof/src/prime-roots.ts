/**
 * The first 64 bits behind the point of square and cube roots of the first primes: what SHA-512
 * takes its constants from, and SHA-256 takes the first 32 bits of. They are computed once, from
 * whole numbers, because text of digits compresses badly and a page has to load it.
 */
export type PrimeRoots = {
  /** Of the first 8 primes. */
  readonly square: readonly bigint[]
  /** Of the first 80. */
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
