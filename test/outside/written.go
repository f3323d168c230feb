// Writes and reads with a client that oapi-codegen has made, and prints what it saw. Its arguments: address, key, workspace.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	url, key, workspace := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	client, err := NewClientWithResponses(url, WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	}))
	check(err == nil, err)

	email := "ada@example.com"
	event := AuditEvent{
		WorkspaceId: workspace,
		ProjectId:   "core",
		Action:      "billing.invoice.approve",
		Actor:       AuditEvent_Actor{Id: "usr_1", Type: "user", Email: &email},
		Target:      AuditEvent_Target{Id: "inv_9", Type: "invoice"},
		OccurredAt:  time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC),
		Source:      AuditEventSourceApi,
		Metadata:    &AuditEvent_Metadata{AdditionalProperties: map[string]interface{}{"amount": 12.5}},
	}
	params := &WriteEventParams{IdempotencyKey: "from-go-event-1"}
	written, err := client.WriteEventWithResponse(ctx, params, event)
	check(err == nil && written.JSON202 != nil, err)
	again, err := client.WriteEventWithResponse(ctx, params, event)
	check(err == nil && again.JSON202 != nil && again.JSON202.Receipt == written.JSON202.Receipt, err)

	query, limit := "inv_9", 10
	listed, err := client.ListEventsWithResponse(ctx, workspace, &ListEventsParams{Query: &query, Limit: &limit})
	check(err == nil && listed.JSON200 != nil && listed.JSON200.Verified, err)
	check(listed.JSON200.Events[0].Metadata["amount"] == 12.5, nil)

	verified, err := client.VerifyReceiptWithResponse(ctx, workspace, written.JSON202.Receipt)
	check(err == nil && verified.JSON200 != nil && verified.JSON200.Verified, err)
	refused, err := client.ListEventsWithResponse(ctx, "another", nil)
	check(err == nil && refused.JSON403 != nil, err)

	said, err := json.Marshal(map[string]any{
		"receipt":  json.RawMessage(written.Body),
		"total":    listed.JSON200.Total,
		"sequence": verified.JSON200.Entry.Sequence,
		"refused":  refused.JSON403.Error,
	})
	check(err == nil, err)
	fmt.Println(string(said))
}

func check(holds bool, err error) {
	if !holds {
		panic(fmt.Sprint("not as described: ", err))
	}
}
