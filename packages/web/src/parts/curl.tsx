import { Copy } from "./copy.tsx"

/** The API call with the same result. The reader fills in the key. */
function curlOf(url: string): string {
  const quoted = url.replaceAll("'", String.raw`'\''`)
  return `curl -sS '${quoted}' -H "Authorization: Bearer $TALLYSTICK_KEY"`
}

export function CopyCurl({ url }: { readonly url: string | (() => string) }) {
  return (
    <Copy text={() => curlOf(typeof url === "string" ? url : url())} label="Copy as curl" isWide />
  )
}
