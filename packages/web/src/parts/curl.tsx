import { Copy } from "./copy.tsx"

/** The call of the API that answers what is shown. Its key stays to be filled in. */
function curlOf(url: string): string {
  const quoted = url.replaceAll("'", String.raw`'\''`)
  return `curl -sS '${quoted}' -H "Authorization: Bearer $TALLYSTICK_KEY"`
}

export function CopyCurl({ url }: { readonly url: string | (() => string) }) {
  return (
    <Copy text={() => curlOf(typeof url === "string" ? url : url())} label="Copy as curl" isWide />
  )
}
