package remote_test

import (
	"encoding/json"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// runner has no contributions.
type runner struct{ remote.Runner }

// The options of the plugin's entry take precedence over those that the host has under its name.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ own, host, want string }{{`{"b":2}`, `{"a":1}`, `{"b":2}`}, {"", `{"a":1}`, `{"a":1}`}, {"", "", "null"}} {
		b, err := remote.NewBase(&remote.Unit{Description: sdk.Description{Name: "p"}, Options: json.RawMessage(c.own)}, sdk.CarrierWASM, runner{})
		if err != nil {
			t.Fatal(err)
		}
		h := sdktest.New(&sdk.Bundle{}, sdktest.Options{Options: json.RawMessage(c.host)})
		var req guest.StartRequest
		data, err := b.StartRequest(h, sdk.Project{})
		if err == nil {
			err = json.Unmarshal(data, &req)
		}
		if err != nil || string(req.Options) != c.want {
			t.Errorf("options %s of the entry, %s of the host: got %s, %v; want %s", c.own, c.host, req.Options, err, c.want)
		}
	}
}
