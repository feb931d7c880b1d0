package model_test

import (
	"errors"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// errOpened ends an Open whose provider the test has seen.
var errOpened = errors.New("opened")

// opened returns what the protocol is opened with for the model p/m, nil if it is not, and the error of Open.
func opened(t *testing.T, o model.Options) (*sdk.ProviderInfo, error) {
	t.Helper()
	var got *sdk.ProviderInfo
	o.Engine = &hooks.Engine{}
	o.Protocols = map[string]sdk.Protocol{"x": {Name: "x", Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
		got = &info
		return nil, errOpened
	}}}
	_, err := model.New(o).Open(t.Context(), "p/m", false)
	return got, err
}

// TestForeignIsKeyOnly: a protocol does not look for credentials where a file of the project chose the address.
func TestForeignIsKeyOnly(t *testing.T) {
	t.Parallel()
	config := &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": {Protocol: "x", Options: sdk.ProviderOptions{BaseURL: "https://a.example"}}}}
	for at, want := range map[string]bool{"": false, "tenon.json:3": true} {
		got, err := opened(t, model.Options{Config: config, Foreign: map[string]string{"p": at}})
		if !errors.Is(err, errOpened) || got.KeyOnly != want {
			t.Errorf("address chosen at %q: opened with %+v, %v; want KeyOnly %v", at, got, err, want)
		}
	}
}
