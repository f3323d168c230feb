import { hearBy } from "./through-client.ts"

// The canary of through-client.ts, loaded in its place: what the client hears is not what the
// service has said, in one letter of a receipt or of a refusal.
//   --import=misled-client.ts?receipts      --import=misled-client.ts?refusals

const wrong = import.meta.url.endsWith("?receipts") ? /(?<="receipt":"rcp_)./ : /(?<="detail":")./

hearBy(async (response) => {
  const text = await response.text()
  const { status, headers } = response
  return new Response(status === 204 ? null : text.replace(wrong, "~"), { status, headers })
})
