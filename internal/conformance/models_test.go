package conformance_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// withModels opens the plugin with its provider and sign-in methods.
func (s *suite) withModels(t *testing.T, capabilities ...sdk.Capability) sdk.Plugin {
	t.Helper()
	k := newCase(t, conformance.Options{})
	k.Description.Protocols = []string{conformance.Protocol}
	k.Description.Auth = []sdk.AuthDescription{
		{Provider: conformance.Provider, ID: conformance.AuthBrowse, Name: "Conformance account", Refreshes: true, Headers: true},
		{Provider: conformance.Provider, ID: conformance.AuthPlain}, {Provider: conformance.Provider, ID: conformance.AuthDenied},
	}
	if len(capabilities) > 0 {
		k.Description.Capabilities = capabilities
	}
	return open(t, s.carrier, k, sdktest.Options{}).Plugin()
}

// signer is a user who opens addresses.
type signer struct{ shown []string }

func (u *signer) Notice(text string)        { u.shown = append(u.shown, text) }
func (u *signer) Code(address, code string) { u.shown = append(u.shown, address+" "+code) }
func (u *signer) Visit(_ context.Context, address string) (string, error) {
	u.shown = append(u.shown, address)
	return "back", nil
}

// auth are sign-ins to providers.
func (s *suite) auth() map[string]func(t *testing.T) {
	plugin := shared(func() sdk.Plugin { return s.withModels(s.t) })
	method := func(t *testing.T, id string) sdk.AuthMethod {
		t.Helper()
		for _, m := range plugin(t).(sdk.AuthSource).AuthMethods() {
			if m.ID == id && m.Provider == conformance.Provider {
				return m
			}
		}
		t.Fatalf("method %q not found", id)
		return sdk.AuthMethod{}
	}
	return map[string]func(t *testing.T){
		"login": func(t *testing.T) {
			m, user := method(t, conformance.AuthBrowse), &signer{}
			token, err := m.Login(within(t), nil, user)
			want := &sdk.Token{Access: "access back", Refresh: "refresh", Expires: 7, Metadata: map[string]string{"account": "a1"}}
			if diff := cmp.Diff(want, token); diff != "" || err != nil {
				t.Fatalf("token, %v (-want +got):\n%s", err, diff)
			}
			shown := []string{"a notice", "https://conformance.example/device AB-CD", "https://conformance.example/login"}
			if diff := cmp.Diff(shown, user.shown); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if token, err = m.Refresh(within(t), nil, token); err != nil || token.Access != "access back+" || token.Refresh != "refresh+" || token.Expires != 8 {
				t.Errorf("refreshed: %+v, %v", token, err)
			}
			headers, err := m.Headers(within(t), token)
			if diff := cmp.Diff(map[string]string{"Authorization": "Conformance access back+", "X-Account": "a1"}, headers); diff != "" || err != nil {
				t.Errorf("headers, %v (-want +got):\n%s", err, diff)
			}
		},
		"plain": func(t *testing.T) {
			m := method(t, conformance.AuthPlain)
			token, err := m.Login(within(t), sdk.Object{}, &signer{})
			if err != nil || token.Access != "0 options" || m.Refresh != nil || m.Headers != nil {
				t.Errorf("method %+v: token %+v, %v", m, token, err)
			}
		},
		"denied": func(t *testing.T) {
			if _, err := method(t, conformance.AuthDenied).Login(within(t), nil, &signer{}); err == nil || !strings.Contains(err.Error(), "the user said no") {
				t.Errorf("Login() = %v, want the plugin's error", err)
			}
		},
		"line break": func(t *testing.T) {
			headers, err := method(t, conformance.AuthBrowse).Headers(within(t), &sdk.Token{Access: "a", Metadata: map[string]string{"account": "bad"}})
			if s.carrier.Grants && err == nil {
				t.Errorf("headers %q, want an error", headers)
			}
		},
		"no grant": func(t *testing.T) {
			other := sdk.Capability{Name: sdk.CapabilityAuth, Scope: []string{"other"}}
			if got := s.withModels(t, other).(sdk.AuthSource).AuthMethods(); s.carrier.Grants && len(got) > 0 {
				t.Errorf("%d methods for a provider that was not granted", len(got))
			}
		},
	}
}

// models are requests to a plugin's wire protocol.
func (s *suite) models() map[string]func(t *testing.T) {
	plugin := shared(func() sdk.Plugin { return s.withModels(s.t) })
	info := sdk.ProviderInfo{ID: conformance.Provider, BaseURL: "https://conformance.example", Key: "k"}
	client := func(t *testing.T, info sdk.ProviderInfo) (sdk.ModelClient, error) {
		t.Helper()
		return plugin(t).(sdk.ProtocolSource).Protocols()[0].Open(info)
	}
	ask := func(t *testing.T, ctx context.Context, info sdk.ProviderInfo, model string, sink func(sdk.StreamEvent) error) error {
		t.Helper()
		c, err := client(t, info)
		if err != nil {
			t.Fatal(err)
		}
		return c.Stream(ctx, &sdk.ModelRequest{SessionID: sessionID, Model: sdk.Model{ID: model}}, sink)
	}
	fails := func(model, want string, cut bool) func(t *testing.T) {
		return func(t *testing.T) {
			err := ask(t, within(t), info, model, func(sdk.StreamEvent) error { return nil })
			var failed *sdk.ProviderError
			if !errors.As(err, &failed) || failed.ProviderID != conformance.Provider || failed.Cut != cut || !strings.Contains(err.Error(), want) {
				t.Errorf("Stream() = %#v, want a ProviderError with %q, cut: %v", err, want, cut)
			}
		}
	}
	return map[string]func(t *testing.T){
		"answer": func(t *testing.T) {
			var got []sdk.StreamEvent
			err := ask(t, within(t), info, "fine", func(e sdk.StreamEvent) error { got = append(got, e); return nil })
			if err != nil {
				t.Fatal(err)
			}
			want := []sdk.StreamEvent{
				{Type: sdk.StreamReasoning, ID: "r", Text: "hm", Metadata: sdk.Object{"signature": "s"}},
				{Type: sdk.StreamText, ID: "t", Text: "https://conformance.example k " + sessionID + " "},
				{Type: sdk.StreamToolCall, ID: "c", CallID: "c1", Tool: "read", Text: `{"a":`}, {Type: sdk.StreamToolCall, ID: "c", Text: `1}`},
				{Type: sdk.StreamFinish, Reason: sdk.FinishToolCalls, Tokens: sdk.Tokens{Input: 11, Output: 7}},
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		},
		"limited": func(t *testing.T) {
			err := ask(t, within(t), info, conformance.ModelLimited, func(sdk.StreamEvent) error { return nil })
			var failed *sdk.ProviderError
			if !errors.As(err, &failed) {
				t.Fatalf("Stream() = %#v, want a ProviderError", err)
			}
			if diff := cmp.Diff(conformance.Limited(), failed, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		},
		"plain error":      s.unless(fails(conformance.ModelPlain, "out of paper", false)),
		"panic":            s.unless(fails(conformance.ModelPanic, conformance.PanicText, false)),
		"no finish":        s.unless(fails(conformance.ModelSilent, "without a finish event", true)),
		"after the finish": s.unless(fails(conformance.ModelLate, "after the finish event", true)),
		"sink": func(t *testing.T) {
			full := errors.New("no more")
			if err := ask(t, within(t), info, conformance.ModelWait, func(sdk.StreamEvent) error { return full }); !errors.Is(err, full) {
				t.Errorf("Stream() = %v, want the error of the sink", err)
			}
		},
		"cancellation": func(t *testing.T) {
			ctx, cancel := context.WithCancel(within(t))
			defer cancel()
			if err := ask(t, ctx, info, conformance.ModelWait, func(sdk.StreamEvent) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("Stream() = %v, want context.Canceled", err)
			}
		},
		"list": func(t *testing.T) {
			c, err := client(t, info)
			if err != nil {
				t.Fatal(err)
			}
			if list, err := c.(sdk.ModelLister).ListModels(within(t)); err != nil || len(list) != 2 || list[1].ID != "two" {
				t.Errorf("ListModels() = %+v, %v", list, err)
			}
		},
		"list without key": func(t *testing.T) {
			c, err := client(t, sdk.ProviderInfo{ID: conformance.Provider})
			if err != nil {
				t.Fatal(err)
			}
			var failed *sdk.ProviderError
			if _, err := c.(sdk.ModelLister).ListModels(within(t)); !errors.As(err, &failed) || failed.StatusCode != 401 {
				t.Errorf("ListModels() = %v, want status 401", err)
			}
		},
		"own sign-in": s.unless(func(t *testing.T) {
			signed := info
			signed.SignedInBy = conformance.Name
			signed.Authorize = func(context.Context, map[string]string) (map[string]string, error) {
				return map[string]string{"Authorization": "own token"}, nil
			}
			said := ""
			if err := ask(t, within(t), signed, "fine", func(e sdk.StreamEvent) error { said += e.Text; return nil }); err != nil || !strings.Contains(said, "own token") {
				t.Errorf("answer %q, %v, want the headers of the plugin's own sign-in", said, err)
			}
		}),
		"another sign-in": s.unless(func(t *testing.T) {
			signed := info
			signed.Authorize = func(context.Context, map[string]string) (map[string]string, error) { return nil, nil }
			if _, err := client(t, signed); err == nil || !strings.Contains(err.Error(), "did not create it") {
				t.Errorf("Open() = %v, want a refusal of another plugin's sign-in", err)
			}
		}),
	}
}

// unless returns a case that holds where the host checks the plugin: not in this process.
func (s *suite) unless(f func(t *testing.T)) func(t *testing.T) {
	if !s.carrier.Grants {
		return func(t *testing.T) { t.Log("the host trusts plugins in its process") }
	}
	return f
}
