"""Writes and reads with a client that openapi-python-client has made, and prints what it saw. Its arguments: address, key, workspace."""

import datetime
import json
import sys

from ledger import AuthenticatedClient
from ledger.api.reading import list_events
from ledger.api.receipts import verify_receipt
from ledger.api.writing import write_batch, write_event
from ledger.models import (
    AuditEvent,
    AuditEventActor,
    AuditEventMetadata,
    AuditEventSource,
    AuditEventTarget,
    Batch,
    BatchItem,
    EventsPage,
    Problem,
    Receipt,
    ReceiptAnswer,
)

url, key, workspace = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=key)

event = AuditEvent(
    workspace_id=workspace,
    project_id="core",
    action="billing.invoice.approve",
    actor=AuditEventActor(id="usr_1", type_="user", email="ada@example.com"),
    target=AuditEventTarget(id="inv_9", type_="invoice"),
    occurred_at=datetime.datetime(2026, 1, 31, 9, 30, tzinfo=datetime.timezone.utc),
    source=AuditEventSource.API,
    metadata=AuditEventMetadata.from_dict({"amount": 12.5}),
)
receipt = write_event.sync(client=client, body=event, idempotency_key="from-python-1")
assert isinstance(receipt, Receipt), receipt
again = write_event.sync(client=client, body=event, idempotency_key="from-python-1")
assert isinstance(again, Receipt) and again.receipt == receipt.receipt, again

item = BatchItem.from_dict({**event.to_dict(), "idempotencyKey": "from-python-2"})
batch = write_batch.sync(client=client, body=Batch(events=[item]))
assert batch is not None and len(batch.results) == 1, batch

page = list_events.sync(workspace, client=client, query="inv_9", limit=10)
assert isinstance(page, EventsPage) and page.verified, page
assert page.events[0].metadata["amount"] == 12.5

answer = verify_receipt.sync(workspace, receipt.receipt, client=client)
assert isinstance(answer, ReceiptAnswer) and answer.verified, answer
refused = list_events.sync("another", client=client)
assert isinstance(refused, Problem), refused

print(json.dumps({"receipt": receipt.to_dict(), "total": page.total, "sequence": answer.entry.sequence, "refused": refused.error}))
