package interceptor

import (
	"encoding/json"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/hookpoint"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A payload without the value of the point is not one that clears it.
func TestPayloadWithoutValue(t *testing.T) {
	t.Parallel()
	call := &sdk.RemoteCall{Point: sdk.PointTextComplete, Value: json.RawMessage(`{"text":"a"}`)}
	for _, payload := range []string{`{"input":{}}`, `{"input":{},"value":null}`} {
		if changes, err := ownChanges(call, json.RawMessage(payload)); err == nil {
			t.Errorf("%s: changes %+v", payload, changes)
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"valid":false,"severity":"error","messages":[{"message":"m","severity":"warn"}]}`), []byte(`{"name":"a","type":"mutation","hook":{"events":["*"],"phase":"both"},"priorityHint":{"request":1e300}}`))
	f.Add([]byte(`{"modified":true,"payload":{"name":"t","arguments":{"a":2}}}`), []byte(`{"name":"a","type":"validation","hook":{"events":["tools/call"]},"priorityHint":"high"}`))
	f.Add([]byte(`{"modified":true,"payload":[]}`), []byte(`{}`))
	f.Fuzz(func(t *testing.T, answer, description []byte) {
		_, _ = decodeValidation(answer)
		if i, err := Decode(description); err == nil && (i.Name == "" || len(i.Hooks) == 0) {
			t.Errorf("interceptor %+v", i)
		}
		payload, err := decodeMutation(answer)
		if err != nil || payload == nil {
			return
		}
		call := &sdk.RemoteCall{Input: json.RawMessage(`{"tool":"t","sessionID":"s","outcome":"ok","model":{}}`)}
		for _, at := range interceptions() {
			if at.changes == nil {
				continue
			}
			info, _ := hookpoint.Of(string(at.point))
			selected, err := value.Select(info.NewValue(), []string{""})
			if err != nil {
				t.Fatal(err)
			}
			call.Value = selected
			if _, err := at.payload(call); err != nil {
				t.Fatalf("%s: %v", at.point, err)
			}
			changes, err := at.changes(call, payload)
			if err != nil {
				continue
			}
			for _, c := range changes {
				if c.Value != nil && !json.Valid(c.Value) {
					t.Errorf("%s: change %+v", at.point, c)
				}
			}
		}
	})
}
