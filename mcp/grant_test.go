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
	s.Grant(map[string]string{"KEY": "a-long-secret-value"})
	if !bytes.Equal(before, s.Definition()) || s.Env["KEY"] == "" || s.Env["A"] != "b" || len(env) != 1 {
		t.Errorf("%s, %v", s.Definition(), s.Env)
	}
	if text := s.Mask("it is a-long-secret-value"); strings.Contains(text, "secret") {
		t.Error(text)
	}
}
