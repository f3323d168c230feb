// Members of objects that are expensive to read, refuse or keep: very many small parts, or one as
// large as allowed.

/** As many parts as fit, with commas between. */
function filled(bytes: number, part: (at: number) => string): string {
  const parts: string[] = []
  for (let left = bytes; ;) {
    const next = part(parts.length)
    left -= Buffer.byteLength(next) + 1
    if (left < 0) return parts.join(",")
    parts.push(next)
  }
}

const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)

/** Members of an object, of about so many bytes. Some are refused, some accepted. */
export const hostileMembers: Readonly<Record<string, (bytes: number) => string>> = {
  "small objects": (bytes) => `"a":[${filled(bytes, () => "{}")}]`,
  "small objects with a member": (bytes) => `"a":[${filled(bytes, () => '{"a":1}')}]`,
  "short names": (bytes) => filled(bytes, (at) => `"${at.toString(36)}_":1`),
  "a member twice, late": (bytes) => `${filled(bytes, (at) => `"${at.toString(36)}_":1`)},"0_":1`,
  "small objects, then a member twice": (bytes) => `"a":[${filled(bytes, () => "{}")}],"a":1`,
  "escaped names": (bytes) => filled(bytes, (at) => `"\\u0061${at.toString(36)}":1`),
  "an escaped name, late": (bytes) =>
    `${filled(bytes, (at) => `"${at.toString(36)}_":1`)},"\\u005f\\u005fz":1`,
  "deep nesting": (bytes) => `"b":[${filled(bytes, () => nested(25))}],"\\u0061":1`,
  "deep objects": (bytes) =>
    `"a":[${filled(bytes, () => `${'{"a":'.repeat(25)}1${"}".repeat(25)}`)}],"\\u0062":1`,
  "too deep": (bytes) => `"a":${"[".repeat(bytes)}`,
  digits: (bytes) => `"a":${"1".repeat(bytes)}`,
  "digits behind a point": (bytes) => `"a":0.${"1".repeat(bytes)}`,
  "zeros in an exponent": (bytes) => `"a":1e${"0".repeat(bytes)}`,
  "long numbers": (bytes) => `"a":[${filled(bytes, () => "0.10000000000000000000")}]`,
  "short numbers, then no JSON": (bytes) => `"a":[${filled(bytes, () => "1")},]`,
  "empty strings, then no JSON": (bytes) => `"a":[${filled(bytes, () => '""')},]`,
  backslashes: (bytes) => `"a":[${filled(bytes, () => `"${"\\\\".repeat(30_000)}"`)}]`,
  "a string of backslashes": (bytes) => `"a":"${"\\\\".repeat(bytes / 2)}"`,
  "quotation marks in strings": (bytes) =>
    `"a":[${filled(bytes, () => `"${'\\"'.repeat(30_000)}"`)}],"\\u0062":1`,
  "a string without end": (bytes) => `"a":"${'\\"'.repeat(bytes / 2)}`,
  "control characters": (bytes) => `"a":[${filled(bytes, () => `"${"\\u0001".repeat(9000)}"`)}]`,
  "letters of two bytes": (bytes) => `"a":[${filled(bytes, () => `"${"é".repeat(30_000)}"`)}]`,
  "many letters of four bytes": (bytes) => `"a":[${filled(bytes, () => '"😀"')}]`,
  "white space": (bytes) => `"a":[${" ".repeat(bytes)}],"\\u0062":1`,
}
