// The baseline of the figures: a server that reads the same bodies, parses them, and answers a
// constant of the receipt's size.

import { createServer } from "node:http"

const answer = JSON.stringify({ answer: "x".repeat(860) })

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString("utf8"))
    response.writeHead(200, { "content-type": "application/json", "content-length": answer.length })
    response.end(answer)
  })
})

server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  process.stdout.write(
    `listening on http://127.0.0.1:${typeof address === "object" ? address?.port : ""}\n`,
  )
})
