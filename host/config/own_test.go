package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/sdk"
)

// Own is what only the user's layers say about who receives the conversation, whatever files of the project change.
func TestOwn(t *testing.T) {
	t.Parallel()
	const user = `{"model": "a/m", "provider": {"a": {"name": "A", "options": {"baseURL": "http://user"}}}, "username": "u"}`
	p := newPlace(t, map[string]string{
		userFile:    user,
		outerFile:   `{"model": "b/m", "small_model": "b/s", "provider": {"a": {"options": {"baseURL": "http://repo"}}, "b": {"options": {"baseURL": "http://repo"}}}}`,
		nearestFile: `{"agent": {"build": {"model": "b/m"}}, "disabled_providers": ["a"]}`,
	})
	p.opts.Environ = []string{`TENON_CONFIG_CONTENT={"agent": {"plan": {"model": "a/p"}}}`}
	l := p.load()
	want := &sdk.Config{
		Model:    "a/m",
		Provider: map[string]sdk.ProviderConfig{"a": {Name: "A", Options: sdk.ProviderOptions{BaseURL: "http://user"}}},
		Agent:    map[string]sdk.AgentConfig{"plan": {Model: "a/p"}},
	}
	if diff := cmp.Diff(want, l.Own); diff != "" {
		t.Errorf("Own (-want +got):\n%s", diff)
	}
	if c := l.Config; c.Model != "b/m" || c.Provider["a"].Options.BaseURL != "http://repo" || c.Provider["a"].Name != "A" || c.Agent["plan"].Model != "a/p" {
		t.Errorf("all layers together: %+v", c)
	}
	for name, files := range map[string]map[string]string{
		"no file of the project": {userFile: user},
		"one that chooses none":  {userFile: user, nearestFile: `{"username": "x", "permission": "ask"}`},
	} {
		if l := newPlace(t, files).load(); l.Own != nil {
			t.Errorf("%s: Own = %+v, want none", name, l.Own)
		}
	}
}
