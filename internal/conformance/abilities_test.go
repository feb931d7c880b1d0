package conformance_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// toolCase is one call of a tool of the plugin.
type toolCase struct {
	tool    string
	args    any
	options *sdktest.Options // of a host for this case alone; nil: the shared host
	want    string           // the output
	refused string           // in the error; then without output
	check   func(t *testing.T, h *sdktest.Host)
}

// htmlUnescaped undoes the HTML escapes of encoding/json: an output may hold JSON, which means the same with and without them.
var htmlUnescaped = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

func (s *suite) run(t *testing.T, c *toolCase) {
	h := s.hostOf(t, c.options)
	result, err := s.call(t, h, c.tool, c.args)
	switch {
	case c.refused == "" && err != nil:
		t.Fatal(err)
	case c.refused == "" && c.want != "" && s.rounded(htmlUnescaped.Replace(result.Output)) != s.rounded(htmlUnescaped.Replace(c.want)):
		t.Errorf("%s = %q, want %q", c.tool, result.Output, c.want)
	case c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)):
		t.Errorf("%s = %v, want an error with %q", c.tool, err, c.refused)
	}
	if c.check != nil {
		c.check(t, h)
	}
}

// hostOf returns the host of a plugin with the options; nil: the shared one.
func (s *suite) hostOf(t *testing.T, o *sdktest.Options) *sdktest.Host {
	t.Helper()
	if o == nil {
		return s.tools(t)
	}
	return s.toolHost(t, s.carrier, *o)
}

// abilities are calls in which a plugin uses the host, over each carrier.
func (s *suite) abilities() map[string]func(t *testing.T) {
	deploy := map[string]string{"permission": "deploy", "pattern": "prod/*"}
	cases := map[string]func(t *testing.T){"stored values": s.counts, "permission before a call": s.prepares}
	for name, c := range map[string]*toolCase{
		"ask granted": {tool: conformance.ToolAsk, args: deploy, want: "granted", check: askedToDeploy},
		"ask refused": {tool: conformance.ToolAsk, args: deploy, refused: "not on a Friday", options: &sdktest.Options{Ask: notOnFriday}},
		"tool call": {
			tool: conformance.ToolNested, args: map[string]any{"tool": "helper", "args": map[string]string{"a": exotic}},
			want: `nested: {"a":` + string(jsontext.Quote(exotic)) + `}`, check: calledHelper,
		},
		"tool call refused": {
			tool: conformance.ToolNested, args: map[string]any{"tool": "helper"}, options: &sdktest.Options{Tool: refuse}, refused: "a rule says no",
		},
		"secret": {tool: conformance.ToolSecret, args: map[string]string{"name": "CONFORMANCE_SECRET"}, want: "5"}, // its length
	} {
		cases[name] = func(t *testing.T) { s.run(t, c) }
	}
	if s.carrier.Grants {
		cases["tool call without a grant"] = func(t *testing.T) { s.notGranted(t, conformance.ToolNested, map[string]any{"tool": "other"}) }
		cases["secret without a grant"] = func(t *testing.T) { s.notGranted(t, conformance.ToolSecret, map[string]any{"name": "OTHER_SECRET"}) }
	}
	return cases
}

func askedToDeploy(t *testing.T, h *sdktest.Host) {
	asked := slices.DeleteFunc(h.Asked(), func(r sdk.PermissionRequest) bool { return r.Permission != "deploy" })
	if len(asked) != 1 || !cmp.Equal(asked[0].Patterns, []string{"prod/*"}) || asked[0].SessionID != sdktest.SessionID {
		t.Errorf("asked for %+v", asked)
	}
}

func calledHelper(t *testing.T, h *sdktest.Host) {
	if called := h.Called(); len(called) != 1 || called[0].Tool != "helper" || called[0].SessionID != sdktest.SessionID {
		t.Errorf("called %+v, want helper in the session of the call", called)
	}
}

func notOnFriday(req sdk.PermissionRequest) error {
	if req.Permission == "deploy" {
		return &sdk.Refusal{Reason: "not on a Friday", By: "user"}
	}
	return nil
}

func repeatArgs(_ context.Context, req sdk.ToolRequest) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: string(req.Args)}, nil
}

func refuse(context.Context, sdk.ToolRequest) (*sdk.ToolResult, error) {
	return nil, &sdk.Refusal{Reason: "a rule says no", By: "rule"}
}

// counts checks that stored values stay between calls.
func (s *suite) counts(t *testing.T) {
	for _, want := range []string{"1", "2", "3"} {
		result, err := s.call(t, s.tools(t), conformance.ToolCount, map[string]string{"key": "n"})
		if err != nil || result.Output != want {
			t.Fatalf("count = %+v, %v, want %s", result, err, want)
		}
	}
}

// prepares checks the permissions that a tool asks for before a call.
func (s *suite) prepares(t *testing.T) {
	h := s.tools(t)
	if _, err := s.call(t, h, conformance.ToolPrepared, map[string]any{"patterns": []string{"a", exotic}}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, req := range h.Asked() {
		if req.Tool == nil || req.Tool.ID != s.carrier.ToolID(conformance.ToolPrepared) {
			continue // another case's
		}
		if req.Permission != conformance.PreparedPermission || req.Metadata["why"] != "because" {
			t.Errorf("asked for %+v", req)
		}
		got = append(got, req.Patterns...)
	}
	if diff := cmp.Diff([]string{"a", exotic}, got); diff != "" {
		t.Errorf("patterns (-want +got):\n%s", diff)
	}
	if _, err := s.call(t, h, conformance.ToolPrepared, map[string]any{"refuse": "bad path"}); err == nil || !strings.Contains(err.Error(), "bad path") {
		t.Errorf("a call that the tool refuses = %v", err)
	}
}

// notGranted checks that a tool of the plugin gets a clear refusal from the host, and that the host was asked for nothing.
func (s *suite) notGranted(t *testing.T, tool string, args map[string]any) {
	t.Helper()
	h := s.tools(t)
	_, err := s.call(t, h, tool, args)
	if err == nil || !strings.Contains(err.Error(), "not granted") {
		t.Errorf("%s = %v, want that it is not granted", tool, err)
	}
	if slices.ContainsFunc(h.Called(), func(r sdk.ToolRequest) bool { return r.Tool != "helper" }) {
		t.Errorf("the host was asked for %+v", h.Called())
	}
}
