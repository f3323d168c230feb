import { readAnswersBy } from "./through-client.ts"

// The canary of through-client.ts, loaded in its place: the client reads an answer with one letter
// changed, in a receipt or in a refusal.
//   --import=misled-client.ts?receipts      --import=misled-client.ts?refusals

const wrong = import.meta.url.endsWith("?receipts") ? /(?<="receipt":"rcp_)./ : /(?<="detail":")./

readAnswersBy(async (response) => {
  const text = await response.text()
  const { status, headers } = response
  return new Response(status === 204 ? null : text.replace(wrong, "~"), { status, headers })
})
