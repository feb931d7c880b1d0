package ability_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Attempts to reach what was not granted, other than by the network. The ones by the network are in network_test.go.
func TestEscape(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		grants  []sdk.Capability
		op      string
		request string
		text    string // of the denial
	}{
		"secret not in the scope":        {[]sdk.Capability{grant("secret", "TOKEN")}, "secret", `{"name":"OTHER"}`, `"secret" with "OTHER"`},
		"secret without scope":           {[]sdk.Capability{grant("secret")}, "secret", `{"name":"TOKEN"}`, `"TOKEN"`},
		"secret by a wildcard":           {[]sdk.Capability{grant("secret", "*")}, "secret", `{"name":"TOKEN"}`, `"TOKEN"`},
		"secret by a prefix":             {[]sdk.Capability{grant("secret", "TOK*")}, "secret", `{"name":"TOKEN"}`, `"TOKEN"`},
		"secret asked for as a pattern":  {[]sdk.Capability{grant("secret", "TOKEN")}, "secret", `{"name":"*"}`, `"*"`},
		"secret in another case":         {[]sdk.Capability{grant("secret", "TOKEN")}, "secret", `{"name":"token"}`, `"token"`},
		"secret without name":            {[]sdk.Capability{grant("secret", "")}, "secret", `{"name":""}`, "secret"},
		"secret by two names":            {[]sdk.Capability{grant("secret", "TOKEN")}, "secret", `{"name":"TOKEN","name":"OTHER"}`, `"OTHER"`},
		"secret by another capability":   {[]sdk.Capability{grant("env", "TOKEN")}, "secret", `{"name":"TOKEN"}`, `"secret"`},
		"tool not in the scope":          {[]sdk.Capability{grant("tool", "read")}, "tool", `{"tool":"bash"}`, `"tool" with "bash"`},
		"tool without scope":             {[]sdk.Capability{grant("tool")}, "tool", `{"tool":"read"}`, `"read"`},
		"tool with a longer name":        {[]sdk.Capability{grant("tool", "read")}, "tool", `{"tool":"read_all"}`, "read_all"},
		"tool in another case":           {[]sdk.Capability{grant("tool", "read")}, "tool", `{"tool":"Read"}`, "Read"},
		"tool by two names":              {[]sdk.Capability{grant("tool", "read")}, "tool", `{"tool":"read","tool":"bash"}`, "bash"},
		"tool without name":              {[]sdk.Capability{grant("tool", "read")}, "tool", `{}`, "tool"},
		"tool in another session":        {[]sdk.Capability{grant("tool", "*")}, "tool", `{"tool":"read","sessionID":"s2"}`, "only the session it is called for"},
		"messages of another session":    {[]sdk.Capability{grant("session")}, "session", `{"sessionID":"s2"}`, "only the session it is called for"},
		"messages by a scope":            {[]sdk.Capability{grant("session", "s2", "*")}, "session", `{"sessionID":"s2"}`, "only the session it is called for"},
		"leave in another session":       {[]sdk.Capability{grant("ask")}, "ask", `{"permission":"x","sessionID":"s2"}`, "only the session it is called for"},
		"question in another session":    {[]sdk.Capability{grant("ask")}, "question", `{"questions":[{}],"sessionID":"s2"}`, "only the session it is called for"},
		"model in another session":       {[]sdk.Capability{grant("model")}, "sample", `{"sessionID":"s2"}`, "only the session it is called for"},
		"http without scope":             {[]sdk.Capability{grant("http")}, "http", `{"url":"http://a.example/"}`, "http://a.example"},
		"capability in another case":     {[]sdk.Capability{grant("KV")}, "kv.get", `{"key":"a"}`, `"kv"`},
		"capability by a wildcard":       {[]sdk.Capability{grant("*")}, "kv.get", `{"key":"a"}`, `"kv"`},
		"capability by its prefix":       {[]sdk.Capability{grant("k")}, "kv.get", `{"key":"a"}`, `"kv"`},
		"reading by the right to write":  {[]sdk.Capability{grant("fs.write", "/")}, "config", ``, `"config"`},
		"grant inside of the request":    {nil, "secret", `{"name":"TOKEN","grants":[{"name":"secret","scope":["TOKEN"]}]}`, `"secret"`},
		"another plugin's name":          {nil, "kv.get", `{"key":"a","plugin":"q"}`, `"kv"`},
		"leave for a capability":         {nil, "ask", `{"permission":"capability","patterns":["http"]}`, `"ask"`},
		"question without the right":     {[]sdk.Capability{grant("session")}, "question", `{"questions":[{}]}`, `"ask"`},
		"case-folded key in the request": {[]sdk.Capability{grant("session")}, "session", `{"SESSIONID":"s2"}`, "only the session it is called for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, ability.Options{Grants: c.grants, Secret: func(string) (string, bool) { return "s3cret", true }})
			h := &host{}
			b.Bind(h)
			status, text := do(t, b, c.op, c.request)
			if status != guest.StatusDenied || !strings.Contains(text, c.text) || strings.Contains(text, "s3cret") {
				t.Errorf("%s %s = %v %s, want denied with %s", c.op, c.request, status, text, c.text)
			}
			if h.last() != "" {
				t.Errorf("the host was asked: %s", h.last())
			}
		})
	}
}

// No operation, and nothing the caller does with its own list, widens the grants.
func TestEscapeGrantWidening(t *testing.T) {
	t.Parallel()
	given := []sdk.Capability{grant("secret", "TOKEN"), grant("tool", "read"), grant("ask")}
	b := newBroker(t, ability.Options{Grants: given, Secret: func(string) (string, bool) { return "s3cret", true }})
	b.Bind(&host{}) // allows everything it is asked for
	for _, op := range []string{"grant", "grants", "grant.add", "capability", "trust", "plugin.trust", "approve", "bind", "config.set", "env", "exec", "fs.read", "kv", "events"} {
		if status, text := do(t, b, op, `{"name":"secret","scope":["OTHER"],"plugin":"p"}`); status != guest.StatusUnknown {
			t.Errorf("%s = %v %s, want unknown", op, status, text)
		}
	}
	// An approval by the model or the user covers one request; it is not a grant.
	want(t, b, "ask", `{"permission":"secret","patterns":["OTHER"],"always":["*"]}`, `{}`)
	want(t, b, "tool", `{"tool":"read","args":{"capabilities":[{"name":"secret","scope":["OTHER"]}]}}`, "")
	given[0].Scope[0], given[1].Scope[0] = "OTHER", "bash"
	given[2].Name = "kv"
	for op, request := range map[string]string{"secret": `{"name":"OTHER"}`, "tool": `{"tool":"bash"}`, "kv.get": `{"key":"a"}`} {
		if status, text := do(t, b, op, request); status != guest.StatusDenied {
			t.Errorf("%s %s = %v %s, want denied", op, request, status, text)
		}
	}
	want(t, b, "secret", `{"name":"TOKEN"}`, `{"value":"s3cret"}`)
}

// Keys are not paths.
func TestEscapeKVTraversal(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir := filepath.Join(base, "p")
	b := newBroker(t, kvOptions(dir))
	keys := []string{"../q/kv.json", "/etc/passwd", "..", ".", "a/b", `..\q`, "kv.json", "kv.lock", "a\x00b", "con", "%2e%2e/", "\n", "__proto__"}
	for i, key := range keys {
		want(t, b, "kv.set", marshal(t, map[string]string{"key": key, "value": fmt.Sprint(i)}), `{}`)
	}
	for i, key := range keys {
		want(t, b, "kv.get", marshal(t, map[string]string{"key": key}), fmt.Sprintf(`{"found":true,"value":"%d"}`, i))
	}
	var found []string
	err := filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
		found = append(found, filepath.Base(path))
		return err
	})
	if err != nil || strings.Join(found[1:], " ") != "p kv.json p.lock" {
		t.Errorf("files %v, %v", found, err)
	}
}

func TestEscapeKVOfAnotherPlugin(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	q := newBroker(t, kvOptions(filepath.Join(base, "q")))
	want(t, q, "kv.set", `{"key":"a","value":"of q"}`, `{}`)
	p := newBroker(t, kvOptions(filepath.Join(base, "p")))
	for _, key := range []string{"a", "../q/a", "q/a", "q.a"} {
		want(t, p, "kv.get", marshal(t, map[string]string{"key": key}), `{"found":false,"value":""}`)
	}
	want(t, p, "kv.keys", `{"prefix":"../q"}`, `{"keys":[]}`)
}

// A plugin that may write to its own directory puts links there, to make the host write or read elsewhere.
func TestEscapeKVLinks(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"kv.json", "kv.json.new"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			dir := filepath.Join(base, "p")
			secret := filepath.Join(base, "secret")
			q := newBroker(t, kvOptions(filepath.Join(base, "q")))
			want(t, q, "kv.set", `{"key":"a","value":"of q"}`, `{}`)
			if err := os.Rename(filepath.Join(base, "q", "kv.json"), secret); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(secret, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			b := newBroker(t, kvOptions(dir))
			if _, text := do(t, b, "kv.get", `{"key":"a"}`); strings.Contains(text, "of q") {
				t.Errorf("the link was read: %s", text)
			}
			if _, text := do(t, b, "kv.set", `{"key":"b","value":"of p"}`); name == "kv.json" && text == "{}" {
				t.Errorf("kv.set went through a link")
			}
			if after, err := os.ReadFile(secret); err != nil || string(after) != string(before) {
				t.Errorf("the link's target was changed: %q, %v", after, err)
			}
		})
	}
}
