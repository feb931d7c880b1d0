package config_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const withSecrets = `{
  "provider": {
    "p": {
      "options": {
        "apiKey": "plain-api-key", "baseURL": "https://{env:HOST}/{env:TENANT}",
        "headers": {"Authorization": "Bearer header-token", "X-Short": "abc", "x-portkey-provider": "anthropic"}, "sessionToken": "own-session-token", "region": "europe-north",
      },
      "models": {"m": {"headers": {"X-Model": "model-header"}, "limit": {"context": 12345678, "output": 1}}},
    },
    "q": {"options": {"apiKey": "{env:EMPTY}"}},
  },
  "mcp": {
    "m": {"type": "local", "command": ["run", "--token", "{env:TOKEN}", "{env:HOME}/bin"], "environment": {"DB": "postgres://u:pw@h"}},
    "r": {"type": "remote", "url": "https://h", "headers": {"K": "mcp-header-value"}, "oauth": {"clientSecret": "oauth-secret", "clientId": "public-id"}},
  },
  "plugins": [["name", {"api_key": "plugin-key", "colour": "lightblue"}]],
  "catalog": {"url": "https://u:catalog-password@h/api.json"},
  "agent": {"a": {"prompt": "never say env-token-1 aloud", "description": "{env:HOST}"}},
  "permission": {"bash": {"curl env-token-1*": "deny"}},
}`

func TestRedacted(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{userFile: withSecrets})
	p.opts.Environ = []string{"TOKEN=env-token-1", "HOST=api.example.com", "TENANT=t1", "EMPTY=", "HOME=" + p.opts.Home}
	l := p.load()
	before, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	redacted, err := l.Redacted()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(redacted)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, secret := range []string{"plain-api-key", "header-token", "abc", "own-session-token", "model-header", "env-token-1", "postgres", "mcp-header-value",
		"oauth-secret", "plugin-key", "catalog-password"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is still there", secret)
		}
	}
	for _, open := range []string{"anthropic", "europe-north", "12345678", "public-id", "lightblue", p.opts.Home + "/bin", `"DB":"***"`, "https://h", "never say *** aloud", "curl ***"} {
		if !strings.Contains(text, open) {
			t.Errorf("%q is gone", open)
		}
	}
	if key := redacted.Provider["q"].Options.APIKey; key != "" {
		t.Errorf("an empty key became %q", key)
	}
	after, err := json.Marshal(l.Config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the configuration itself changed:\n%s", diff)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{userFile: withSecrets})
	p.opts.Environ = []string{"TOKEN=env-token-1", "HOST=api.example.com", "TENANT=t1", "EMPTY=", "HOME=" + p.opts.Home}
	l := p.load()
	want := []string{"Bearer header-token", "own-session-token", "postgres://u:pw@h", "catalog-password", "mcp-header-value", "api.example.com", "plain-api-key",
		"header-token", "model-header", "oauth-secret", "env-token-1", "plugin-key"}
	if diff := cmp.Diff(want, l.Secrets); diff != "" {
		t.Errorf("secrets (-want +got):\n%s", diff)
	}
	const text = `401: key plain-api-key, sent "Bearer header-token" to region europe-north`
	if got, want := l.Mask(text), `401: key ***, sent "***" to region europe-north`; got != want {
		t.Errorf("Mask = %q, want %q", got, want)
	}
}

// TestSecretsOfTheRepository: a repository cannot hide words in a question for approval, or in the user's prompts, as secrets of its own.
func TestSecretsOfTheRepository(t *testing.T) {
	t.Parallel()
	const hidden = "ask before you delete"
	p := newPlace(t, map[string]string{
		userFile:             `{"agent": {"a": {"prompt": "Please ` + hidden + `."}}}`,
		"project/tenon.json": `{"provider": {"p": {"options": {"apiKey": "` + hidden + `", "headers": {"X": "{env:TOKEN}"}}}}, "mcp": {"m": {"type": "remote", "url": "{env:ADDRESS}"}}}`,
	})
	p.opts.Environ = []string{"TOKEN=env-token-1", "ADDRESS=https://u:env-password-1@h/x"}
	l := p.load()
	redacted, err := l.Redacted()
	if err != nil {
		t.Fatal(err)
	}
	if got := redacted.Agent["a"].Prompt; got != "Please "+hidden+"." {
		t.Errorf("prompt %q", got)
	}
	if got := redacted.Provider["p"].Options.APIKey; got != "***" {
		t.Errorf("key %q", got)
	}
	if got := l.Mask(hidden + " env-token-1 env-password-1"); got != hidden+" *** ***" {
		t.Errorf("Mask = %q", got)
	}
}
