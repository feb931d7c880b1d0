package model_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
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

// TestForeignIsKeyOnly: a protocol does not look for credentials if a file of the project chose the address.
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

// TestSignInStaysAtItsServer: the headers of a sign-in do not follow a model to another server, unless the sign-in is for it too.
func TestSignInStaysAtItsServer(t *testing.T) {
	t.Parallel()
	for api, want := range map[string]error{
		"": errOpened, "https://a.example/v2": errOpened, "https://b.example": model.ErrModel, "http://a.example": model.ErrModel, "https://served.example/v1": errOpened,
	} {
		config := &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": {Models: map[string]sdk.ModelConfig{"m": {Provider: &sdk.ModelServer{API: api}}}}}}
		signIn := func(r *model.SignInRequest) string {
			info := r.Info
			info.BaseURL = "https://a.example/v1"
			info.Authorize = func(context.Context, map[string]string) (map[string]string, error) { return nil, nil }
			info.Serves = func(_ *sdk.ProviderInfo, address string) bool { return address == "https://served.example/v1" }
			return "stored"
		}
		got, err := opened(t, model.Options{Config: config, SignIn: signIn, Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x"}}})
		if !errors.Is(err, want) || (got != nil) != errors.Is(want, errOpened) {
			t.Errorf("model at %q: opened with %+v, %v; want %v", api, got, err, want)
		}
	}
}

// TestSignInAtAnIncompleteAddress: listing the models of a provider whose address lacks a variable is an error like others.
func TestSignInAtAnIncompleteAddress(t *testing.T) {
	t.Parallel()
	signIn := func(r *model.SignInRequest) string {
		r.Info.Authorize = func(context.Context, map[string]string) (map[string]string, error) { return nil, nil }
		return "stored"
	}
	models := model.New(model.Options{
		Config: &sdk.Config{}, Engine: &hooks.Engine{}, SignIn: signIn,
		Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", BaseURL: "https://${RESOURCE}.example"}},
		Protocols: map[string]sdk.Protocol{"x": {Name: "x", Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
			_, err := url.Parse(info.BaseURL)
			return nil, err
		}}},
	})
	if _, err := models.List(t.Context(), model.ListOptions{Refresh: true}); !errors.Is(err, model.ErrModel) || !strings.Contains(err.Error(), "${RESOURCE}") {
		t.Errorf("List() = %v, want an error with the address", err)
	}
}

// unapproved returns the receiver p that results when a repository's configuration changes the user's.
func unapproved(t *testing.T, own, project sdk.ProviderConfig) model.Receiver {
	t.Helper()
	users := &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": own}}
	if own.Protocol == "" {
		users.Provider = nil
	}
	config := &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": project}}
	list := model.New(model.Options{Config: config, Own: users, Engine: &hooks.Engine{}}).Unapproved(t.Context(), nil)
	if len(list) != 1 {
		t.Fatalf("%d receivers, want 1: %+v", len(list), list)
	}
	return list[0]
}

// TestShownAddress: the question names everything that decides who receives a conversation, and no password.
func TestShownAddress(t *testing.T) {
	t.Parallel()
	project := sdk.ProviderConfig{
		Protocol: "x",
		Options: sdk.ProviderOptions{BaseURL: "https://u:password@a.example/v1?k=password", Extra: sdk.Extra{
			"enterpriseUrl": []byte(`"u:password@evil.example"`), "endpoint": []byte(`"https://e.example"`), "region": []byte(`"eu"`), "resourceName": []byte(`"r"`),
		}},
		Models: map[string]sdk.ModelConfig{"m": {Provider: &sdk.ModelServer{API: "https://m.example/v1?k=password"}}, "n": {Provider: &sdk.ModelServer{API: "https://m.example/v1"}}, "o": {}},
	}
	const want = "https://a.example/v1, endpoint https://e.example, enterpriseUrl evil.example, region eu, resourceName r, models at https://m.example/v1"
	if got := unapproved(t, sdk.ProviderConfig{}, project).Address; got != want {
		t.Errorf("address %q, want %q", got, want)
	}
}

// TestTimeLimitsAreNotPartOfTheReceiver: a project may set how long an answer may take without a new approval.
func TestTimeLimitsAreNotPartOfTheReceiver(t *testing.T) {
	t.Parallel()
	yes, none := true, sdk.ProviderConfig{}
	usual := sdk.ProviderConfig{Protocol: "x", Options: sdk.ProviderOptions{BaseURL: "https://a"}}
	limited := usual
	limited.Options = sdk.ProviderOptions{
		BaseURL: "https://a", Timeout: []byte("1"), ChunkTimeout: 2, HeaderTimeout: 3, AnswerTimeout: []byte("4"), TotalTimeout: []byte("false"), SetCacheKey: &yes,
	}
	if one, other := unapproved(t, none, usual).Digest, unapproved(t, none, limited).Digest; one != other {
		t.Errorf("digest %s with time limits, %s without", other, one)
	}
}

// TestPackageIsPartOfTheReceiver: with another npm package, other options can determine the address. Approvals from before the package
// was included stay valid.
func TestPackageIsPartOfTheReceiver(t *testing.T) {
	t.Parallel()
	with := func(npm, address, region string) sdk.ProviderConfig {
		c := sdk.ProviderConfig{Protocol: "x", NPM: npm, Options: sdk.ProviderOptions{BaseURL: address}}
		if region != "" {
			c.Options.Extra = sdk.Extra{"region": []byte(`"` + region + `"`)}
		}
		return c
	}
	none := sdk.ProviderConfig{}
	const older = "b2b855cd638271dd7a917ff2df94280c1a03d3f6b6fb3fb87d8e199f3fe2f487" // from before the package counted
	if got := unapproved(t, none, with("a", "https://a", "")).Digest; got != older {
		t.Errorf("digest %s, want that of older approvals, %s", got, older)
	}
	for name, c := range map[string]struct {
		own, one, other sdk.ProviderConfig
		same            bool
	}{
		"the project's, by an option":       {none, with("a", "https://a", "eu"), with("b", "https://a", "eu"), false},
		"the project's, without an address": {none, with("a", "", ""), with("b", "", ""), false},
		"the project's, by its address":     {none, with("a", "https://a", ""), with("b", "https://a", ""), true},
		"the user's":                        {with("a", "https://u", ""), with("a", "https://a", ""), with("b", "https://a", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if same := unapproved(t, c.own, c.one).Digest == unapproved(t, c.own, c.other).Digest; same != c.same {
				t.Errorf("the same digest: %v, want %v", same, c.same)
			}
		})
	}
}
