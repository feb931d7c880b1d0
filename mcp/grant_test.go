package mcp_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/mcp"
)

// TestGrant: granted variables reach the server, do not change what was approved, and are masked.
func TestGrant(t *testing.T) {
	t.Parallel()
	s := mcp.Server{Name: "a", Transport: mcp.TransportStdio, Command: "a", Env: map[string]string{"A": "b"}}
	before, env := s.Definition(), s.Env
	if err := s.Grant(map[string]string{"KEY": "a-long-secret-value"}, false); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, s.Definition()) || s.Env["KEY"] == "" || s.Env["A"] != "b" || len(env) != 1 {
		t.Errorf("%s, %v", s.Definition(), s.Env)
	}
	if text := s.Mask("it is a-long-secret-value"); strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestGrantExpands: of the variables in the text, only granted ones are replaced.
func TestGrantExpands(t *testing.T) {
	t.Parallel()
	s := mcp.Server{
		Name: "a", Transport: mcp.TransportStdio, Command: "a", Args: []string{"${KEY}", "${LEVEL:-info}", "${PLUGIN_ROOT}/x"},
		Headers: map[string]string{"Authorization": "Bearer ${KEY}"},
	}
	before := s.Definition()
	if err := s.Grant(map[string]string{"KEY": "a-long-secret-value"}, true); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(append(s.Args, s.Headers["Authorization"]), " "); got != "a-long-secret-value info ${PLUGIN_ROOT}/x Bearer a-long-secret-value" || !bytes.Equal(before, s.Definition()) {
		t.Errorf("%s, %s", got, s.Definition())
	}
	if text := s.Mask("it is a-long-secret-value"); strings.Contains(text, "secret") {
		t.Error(text)
	}
	chosen := mcp.Server{Name: "a", Transport: mcp.TransportHTTP, URL: "https://a.example/${KEY}", Command: "${KEY}", Cwd: "${KEY}"}
	if err := chosen.Grant(map[string]string{"KEY": "a-long-secret-value"}, true); err != nil || chosen.URL != "https://a.example/${KEY}" || chosen.Command+chosen.Cwd != "${KEY}${KEY}" {
		t.Errorf("a variable decides what is started or called: %+v, %v", chosen, err)
	}
	other := mcp.Server{Name: "a", Transport: mcp.TransportStdio, Command: "a", Args: []string{"${HOME}"}}
	if err := other.Grant(nil, true); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("a variable that was not granted: %v, %q", err, other.Args)
	}
}
