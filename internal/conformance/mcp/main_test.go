package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/jsonline"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers runs the server on requests and returns its answers by their ids.
func answers(t *testing.T, s setup, requests ...string) map[uint64]*jsonline.Message {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), s, strings.NewReader(strings.Join(requests, "\n")+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	got := map[uint64]*jsonline.Message{}
	for line := range strings.Lines(out.String()) {
		m, err := jsonline.Decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		got[m.ID] = m
	}
	return got
}

func TestServer(t *testing.T) {
	t.Parallel()
	s := setup{
		Options: json.RawMessage(`{"hooks":{"text.complete":{"set":[{"pointer":"/text","value":"changed"}]}}}`),
		Hooks:   []guest.HookRef{{Point: sdk.PointTextComplete, Name: string(sdk.PointTextComplete)}},
	}
	got := answers(t, s,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hook_0","arguments":{"input":{},"value":{"text":"a"}}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"interceptor/invoke","params":{"name":"hook_0","payload":{"input":{},"value":{"text":"a"}}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fail","arguments":{"fault":"panic"}}}`,
		`{"jsonrpc":"2.0","id":5,"method":"nothing"}`,
	)
	if len(got) != 5 {
		t.Fatalf("%d answers, want 5", len(got))
	}
	for id, want := range map[uint64]string{
		1: `"protocolVersion":"2025-06-18"`, 2: `{\"changes\":[{\"pointer\":\"/text\",\"value\":\"changed\"}]}`,
		3: `"modified":true`, 4: `"isError":true`,
	} {
		if raw := string(got[id].Result); !strings.Contains(raw, want) {
			t.Errorf("answer %d = %s, want %s", id, raw, want)
		}
	}
	if e := got[5].Error; e == nil || e.Code != jsonline.CodeMethodNotFound {
		t.Errorf("answer 5 = %+v, want an unknown method", got[5])
	}
}
