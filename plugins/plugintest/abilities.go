package plugintest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/plugintest/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// abilities: what a plugin asks of the host, over each carrier.
func (s *suite) abilities() map[string]func(t *testing.T) {
	cases := map[string]func(t *testing.T){
		"ask granted": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{})
			result, err := s.call(t, h, conformance.ToolAsk, map[string]string{"permission": "deploy", "pattern": "prod/*"})
			if err != nil || result.Output != "granted" {
				t.Fatalf("ask = %+v, %v", result, err)
			}
			asked := h.Asked()
			last := asked[len(asked)-1]
			if last.Permission != "deploy" || !cmp.Equal(last.Patterns, []string{"prod/*"}) || last.SessionID != sdktest.SessionID {
				t.Errorf("asked for %+v", last)
			}
		},
		"ask refused": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{Ask: func(req sdk.PermissionRequest) error {
				if req.Permission == "deploy" {
					return &sdk.Refusal{Reason: "not on a Friday", By: "user"}
				}
				return nil
			}})
			_, err := s.call(t, h, conformance.ToolAsk, map[string]string{"permission": "deploy", "pattern": "prod/*"})
			if err == nil || !strings.Contains(err.Error(), "not on a Friday") {
				t.Errorf("ask = %v, want the reason", err)
			}
		},
		"stored values": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{})
			for _, want := range []string{"1", "2", "3"} {
				result, err := s.call(t, h, conformance.ToolCount, map[string]string{"key": "n"})
				if err != nil || result.Output != want {
					t.Fatalf("count = %+v, %v, want %s", result, err, want)
				}
			}
		},
		"tool call": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{Tool: func(_ context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
				return &sdk.ToolResult{Output: string(req.Args)}, nil
			}})
			result, err := s.call(t, h, conformance.ToolNested, map[string]any{"tool": "helper", "args": map[string]string{"a": unicode}})
			if err != nil {
				t.Fatal(err)
			}
			var args map[string]string
			if err := json.Unmarshal([]byte(strings.TrimPrefix(result.Output, "nested: ")), &args); err != nil || args["a"] != unicode {
				t.Errorf("nested = %q, %v", result.Output, err)
			}
			if called := h.Called(); len(called) != 1 || called[0].Tool != "helper" || called[0].SessionID != sdktest.SessionID {
				t.Errorf("called %+v, want helper in the session of the call", called)
			}
		},
		"tool call refused": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{Tool: func(context.Context, sdk.ToolRequest) (*sdk.ToolResult, error) {
				return nil, &sdk.Refusal{Reason: "a rule says no", By: "rule"}
			}})
			_, err := s.call(t, h, conformance.ToolNested, map[string]any{"tool": "helper"})
			if err == nil || !strings.Contains(err.Error(), "a rule says no") {
				t.Errorf("nested = %v, want the reason", err)
			}
		},
		"secret": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{})
			result, err := s.call(t, h, conformance.ToolSecret, map[string]string{"name": "CONFORMANCE_SECRET"})
			if err != nil || result.Output != "5" {
				t.Errorf("secret = %+v, %v, want its length", result, err)
			}
		},
		"leave before a call": func(t *testing.T) {
			h := s.toolHost(t, s.carrier, sdktest.Options{})
			if _, err := s.call(t, h, conformance.ToolPrepared, map[string]any{"patterns": []string{"a", unicode}}); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, req := range h.Asked() {
				if req.Permission != conformance.PreparedPermission || req.Metadata["why"] != "because" {
					t.Errorf("asked for %+v", req)
				}
				got = append(got, req.Patterns...)
			}
			if diff := cmp.Diff([]string{"a", unicode}, got); diff != "" {
				t.Errorf("patterns (-want +got):\n%s", diff)
			}
			if _, err := s.call(t, h, conformance.ToolPrepared, map[string]any{"refuse": "bad path"}); err == nil || !strings.Contains(err.Error(), "bad path") {
				t.Errorf("a call that the tool refuses = %v", err)
			}
		},
	}
	if s.carrier.Grants {
		cases["tool call without a grant"] = func(t *testing.T) { s.notGranted(t, conformance.ToolNested, map[string]any{"tool": "other"}) }
		cases["secret without a grant"] = func(t *testing.T) { s.notGranted(t, conformance.ToolSecret, map[string]any{"name": "OTHER_SECRET"}) }
	}
	return cases
}

// notGranted checks that a tool of the plugin gets a clear refusal from the host, and that the host was asked for nothing.
func (s *suite) notGranted(t *testing.T, tool string, args map[string]any) {
	t.Helper()
	h := s.toolHost(t, s.carrier, sdktest.Options{Tool: func(context.Context, sdk.ToolRequest) (*sdk.ToolResult, error) {
		return nil, errors.New("the host was reached")
	}})
	_, err := s.call(t, h, tool, args)
	if err == nil || !strings.Contains(err.Error(), "not granted") {
		t.Errorf("%s = %v, want that it is not granted", tool, err)
	}
	if len(h.Called()) > 0 {
		t.Errorf("the host was asked for %+v", h.Called())
	}
}
