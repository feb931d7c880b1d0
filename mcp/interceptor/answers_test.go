package interceptor

import (
	"encoding/json"
	"strings"
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

// A validation blocks an invalid payload unless it calls it less than an error.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for answer, blocks := range map[string]bool{
		`{"valid": true}`: false, `{"valid": true, "severity": "error"}`: false, `{"valid": false}`: true, `{"valid": false, "severity": "error"}`: true,
		`{"valid": false, "severity": "warn"}`: false, `{"valid": false, "messages": [{"severity": "warn"}]}`: false,
		`{"valid": false, "messages": [{"severity": "warn"}, {"severity": "error"}]}`: true,
	} {
		if v, err := decodeValidation([]byte(answer)); err != nil || v.blocks != blocks {
			t.Errorf("%s: %+v, %v", answer, v, err)
		}
	}
}

// A description that tenon does not understand is an error: ignoring the interceptor would disable a check.
func TestDecodeSpec(t *testing.T) {
	t.Parallel()
	valid := `{"name": "a", "type": "validation", "mode": "audit", "hook": {"events": ["*"], "phase": "request"}, "priorityHint": {"request": 1, "response": 2}}`
	i, err := Decode([]byte(valid))
	if err != nil || !i.Audit || i.priority(phaseRequest) != 1 || i.priority(phaseResponse) != 2 {
		t.Errorf("%+v, %v", i, err)
	}
	for _, change := range [][2]string{
		{`"a"`, `""`}, {"validation", "other"}, {"audit", "other"}, {`"*"`, ""}, {`"phase": "request"`, `"phase": "other"`}, {`{"request": 1, "response": 2}`, `"high"`},
	} {
		if i, err := Decode([]byte(strings.Replace(valid, change[0], change[1], 1))); err == nil {
			t.Errorf("%s for %s: %+v", change[1], change[0], i)
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
