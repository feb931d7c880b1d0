package credentials_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/credentials"
)

const opencodeFile = `{
  "openai": {"type": "oauth", "access": "at", "refresh": "rt", "expires": 2000000000000, "accountId": "acc"},
  "expired": {"type": "oauth", "access": "at", "refresh": "rt", "expires": 1000},
  "github-copilot": {"type": "oauth", "access": "gh", "refresh": "gh", "expires": 0, "enterpriseUrl": "ghe.example"},
  "groq": {"type": "api", "key": "k", "metadata": {"a": "b"}},
  "https://corp.example/": {"type": "wellknown", "key": "TOKEN", "token": "t"},
  "broken": {"type": "api", "key": 5},
  "azure": {"type": "oauth", "access": "opencode-oauth-dummy-key", "refresh": "opencode-oauth-dummy-key", "expires": 2000000000000, "accountId": "r"},
  "url/": {"type": "api", "key": "u"}
}`

func TestOpencode(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "opencode"), 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "opencode", "auth.json")
	if err := os.WriteFile(path, []byte(opencodeFile), 0o600); err != nil {
		t.Fatal(err)
	}
	const source = credentials.OpencodeSource
	want := map[string]*credentials.Credential{
		"openai":         {Type: credentials.TypeOAuth, Access: "at", Expires: 2000000000000, Metadata: map[string]string{"accountId": "acc"}, Source: source},
		"github-copilot": {Type: credentials.TypeOAuth, Access: "gh", Metadata: map[string]string{"enterpriseUrl": "ghe.example"}, Source: source},
		"groq":           {Type: credentials.TypeKey, Key: "k", Metadata: map[string]string{"a": "b"}, Source: source},
		"url":            {Type: credentials.TypeKey, Key: "u", Source: source},
	}
	now := time.UnixMilli(1_900_000_000_000)
	for name, environ := range map[string]map[string]string{
		"file":     {"XDG_DATA_HOME": dir},
		"variable": {"XDG_DATA_HOME": "/none", "OPENCODE_AUTH_CONTENT": opencodeFile},
	} {
		got, err := credentials.Opencode("/none", func(v string) string { return environ[v] }, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Opencode() from a %s (-want +got):\n%s", name, diff)
		}
	}
	after, err := os.ReadFile(path)
	if err != nil || string(after) != opencodeFile {
		t.Errorf("the file changed: %s, %v", after, err)
	}
	none, err := credentials.Opencode(t.TempDir(), func(string) string { return "" }, now)
	if err != nil || len(none) > 0 {
		t.Errorf("Opencode() without a file = %v, %v, want none", none, err)
	}
	if _, err := credentials.Opencode("", func(string) string { return "[" }, now); !errors.Is(err, credentials.ErrFile) {
		t.Errorf("Opencode() of damaged content = %v, want ErrFile", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = credentials.Opencode("", func(v string) string { return map[string]string{"XDG_DATA_HOME": dir}[v] }, now)
	if !errors.Is(err, credentials.ErrFile) || !strings.Contains(err.Error(), path) {
		t.Errorf("Opencode() of a directory = %v, want ErrFile with its path", err)
	}
}
