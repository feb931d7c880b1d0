package remote_test

import (
	"cmp"
	"context"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/sdk"
)

// silent answers every sign-in request with the same text, by default an empty object, and refuses the credentials of requests to models.
// It breaks after ten requests.
type silent struct {
	runner
	says     string
	requests int
}

func (s *silent) Call(_ context.Context, c *remote.Call) ([]byte, error) {
	if c.Method == "auth" {
		return []byte(cmp.Or(s.says, `{}`)), nil
	}
	if s.requests++; s.requests > 10 {
		return nil, context.DeadlineExceeded
	}
	return nil, &sdk.ProviderError{StatusCode: 401}
}

// TestEmptySignIn: a plugin that returns no headers is an error, and a request without headers that is refused is not repeated.
func TestEmptySignIn(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "p", Protocols: []string{"x"}, Auth: []sdk.AuthDescription{{Provider: "a", ID: "m", Headers: true}}}
	u := &remote.Unit{Description: d, Grants: []sdk.Capability{{Name: sdk.CapabilityAuth, Scope: []string{"a"}}}}
	server := &silent{}
	b := remote.NewBase(u, sdk.CarrierWASM, server)
	if headers, err := b.AuthMethods()[0].Headers(t.Context(), &sdk.Token{Access: "t"}); err == nil || !strings.Contains(err.Error(), "no headers") {
		t.Errorf("headers %v, %v, want an error", headers, err)
	}
	client, err := b.Protocols()[0].Open(sdk.ProviderInfo{
		ID: "a", SignedInBy: "p", Authorize: func(context.Context, map[string]string) (map[string]string, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Stream(t.Context(), &sdk.ModelRequest{}, nil); err == nil || server.requests != 1 {
		t.Errorf("Stream() = %v after %d requests, want an error after 1", err, server.requests)
	}
}

// A sign-in method that answers without valid headers, or without a token, fails: a line end in a header would begin another one.
func TestSignInAnswers(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "p", Auth: []sdk.AuthDescription{{Provider: "a", ID: "m", Headers: true}, {Provider: "b", ID: "m"}}}
	u := &remote.Unit{Description: d, Grants: []sdk.Capability{{Name: sdk.CapabilityAuth, Scope: []string{"a"}}}}
	for answer, valid := range map[string]bool{
		`{"headers": {"X-A": "b\tc"}, "token": {"access": "t"}}`:                                true,
		`{"headers": {"X-A": "b\r\nX-B: c"}}`:                                                   false,
		`{"headers": {"X-A: b": "c"}}`:                                                          false,
		`{"headers": {"": "b"}, "token": {"refresh": "t"}}`:                                     false,
		`{"headers": {"X-A": "` + strings.Repeat("b", 64<<10) + `"}, "token": {"access": "t"}}`: false,
	} {
		b := remote.NewBase(u, sdk.CarrierWASM, &silent{says: answer})
		methods := b.AuthMethods()
		if len(methods) != 1 || methods[0].Provider != "a" {
			t.Fatalf("methods %+v, want only the granted one", methods)
		}
		_, err := methods[0].Headers(t.Context(), &sdk.Token{Access: "t"})
		_, err2 := methods[0].Login(t.Context(), nil, nil)
		if (err == nil) != valid || (err2 == nil) != valid {
			t.Errorf("%.80s: headers %v, token %v", answer, err, err2)
		}
	}
}

// TestSignInOfNamesake: a plugin of the same name from elsewhere neither issues the same tokens nor receives them.
func TestSignInOfNamesake(t *testing.T) {
	t.Parallel()
	d := sdk.Description{Name: "p", Protocols: []string{"x"}, Auth: []sdk.AuthDescription{{Provider: "a", ID: "m"}}}
	grants := []sdk.Capability{{Name: sdk.CapabilityAuth, Scope: []string{"a"}}}
	info := sdk.ProviderInfo{ID: "a", Authorize: func(context.Context, map[string]string) (map[string]string, error) { return nil, nil }}
	for owner, receives := range map[string]bool{"p-1": true, "p-2": false} {
		u := &remote.Unit{Description: d, Owner: owner, Grants: grants}
		b := remote.NewBase(u, sdk.CarrierWASM, &silent{})
		if m := b.AuthMethods()[0]; m.Plugin != "p" || m.Owner != owner {
			t.Errorf("method of %s: plugin %s, owner %s", owner, m.Plugin, m.Owner)
		}
		info.SignedInBy = "p-1"
		if _, err := b.Protocols()[0].Open(info); (err == nil) != receives {
			t.Errorf("opened by %s with the sign-in of p-1: %v", owner, err)
		}
	}
}
