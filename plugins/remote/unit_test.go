package remote_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// The options of the plugin's entry are the plugin's, not those that the host has under its name.
func TestOptions(t *testing.T) {
	t.Parallel()
	h := sdktest.New(&sdk.Bundle{}, sdktest.Options{Options: json.RawMessage(`{"a": 1}`)})
	for own, want := range map[string]string{"": `{"a": 1}`, `{"b": 2}`: `{"b": 2}`} {
		u := remote.Unit{Options: json.RawMessage(own)}
		if got := string(u.OptionsOf(h)); got != want {
			t.Errorf("own options %s: got %s, want %s", own, got, want)
		}
	}
}
