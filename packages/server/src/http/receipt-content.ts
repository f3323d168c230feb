// A public receipt, rendered by the server for browsers without scripts: it shows what the server
// states. With scripts, the page replaces it, and shows what it has recomputed.

import { printable } from "@tallystick/proof"
import type { Party, ReceiptAnswer } from "@tallystick/client/wire"
import { tag, type Html } from "./html.ts"

export function receiptContent({ receipt, entry, verified }: ReceiptAnswer, apiUrl: string): Html {
  const { sequence, timestamp, action, lane, projectId, workspaceId } = entry
  const number = sequence.toLocaleString("en-GB")
  const time = `${timestamp.slice(0, 10)} ${timestamp.slice(11, 19)} UTC`
  return tag`<header class="bar"><span class="brand">tallystick</span><span class="about">${printable(workspaceId)}, project ${printable(projectId)}</span></header>
<main id="main">
<section class="top"><div class="verdict"><span class="seal neutral"></span><div>
<h1>${verified ? "Recorded, as the server states" : "The server states that this is broken"}</h1>
<p><b>Entry #${number}</b>, recorded on <b><time datetime="${timestamp}">${time}</time></b>. Checked by the server when it was asked, and not by this browser.</p>
</div></div></section>
<section><h2>What was recorded</h2>
<dl class="what">
<div><dt>Who</dt><dd>${party(receipt.actor)}</dd></div>
<div><dt>Did what</dt><dd><code>${printable(action)}</code></dd></div>
<div><dt>To whom</dt><dd>${party(receipt.target)}</dd></div>
<div><dt>Lane</dt><dd>${printable(lane)}</dd></div>
</dl></section>
<noscript><section><h2>Check it yourself</h2>
<dl class="facts"><dt>Hash</dt><dd><code>${receipt.eventHash}</code></dd><dt>Previous</dt><dd><code>${receipt.previousHash}</code></dd></dl>
<pre class="code">curl -sS '${apiUrl}' &gt; receipt.json
tallystick verify receipt.json --key '&lt;the key of this ledger that you noted&gt;'</pre>
<p class="soft">With JavaScript this page recomputes all of it in your browser.</p></section></noscript>
</main>
`
}

function party({ id, name, email, type }: Party): Html {
  return tag`<code>${printable(id)}</code> ${printable(name ?? email ?? type ?? "")}`
}
