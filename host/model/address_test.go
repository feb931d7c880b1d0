package model_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/sdk"
)

// TestAddressOfTheEnvironment: *_BASE_URL replaces the catalog's address, not the configuration's, and messages name it.
func TestAddressOfTheEnvironment(t *testing.T) {
	t.Parallel()
	const usual = "https://usual.example/v1"
	for name, c := range map[string]struct {
		protocol, variable, config string
		want                       string
	}{
		"none":                      {"openai-chat", "", "", usual},
		"as it is":                  {"openai-chat", "http://127.0.0.1:1/api", "", "http://127.0.0.1:1/api"},
		"the configuration's":       {"openai-chat", "http://127.0.0.1:1", "https://mine.example", "https://mine.example"},
		"Claude without a version":  {"anthropic-messages", "http://127.0.0.1:1", "", "http://127.0.0.1:1/v1"},
		"Claude with a path":        {"anthropic-messages", "https://a.example/anthropic/", "", "https://a.example/anthropic/v1"},
		"Claude with a version":     {"anthropic-messages", "https://a.example/v1/", "", "https://a.example/v1"},
		"Gemini with a version":     {"gemini", "https://a.example/v1beta", "", "https://a.example/v1beta"},
		"responses keeps its paths": {"openai-responses", "https://a.example", "", "https://a.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got sdk.ProviderInfo
			config := &sdk.Config{}
			if c.config != "" {
				config.Provider = map[string]sdk.ProviderConfig{"p": {Options: sdk.ProviderOptions{BaseURL: c.config}}}
			}
			models := model.New(model.Options{
				Config: config, Engine: &hooks.Engine{}, Environ: []string{"P_API_KEY=k", "P_BASE_URL=" + c.variable},
				Providers: []sdk.ProviderInfo{{
					ID: "p", Protocol: c.protocol, BaseURL: usual, Env: []string{"P_API_KEY"}, Default: "m",
					OptionEnv: map[string][]string{"baseURL": {"P_BASE_URL"}},
					Models:    map[string]sdk.Model{"m": {Name: "M", BaseURL: "https://catalog.example"}},
				}},
				Protocols: map[string]sdk.Protocol{c.protocol: {Open: func(info sdk.ProviderInfo) (sdk.ModelClient, error) {
					got = info
					return failing{}, nil
				}}},
			})
			m, err := models.Open(t.Context(), "p/m", false)
			if err != nil {
				t.Fatal(err)
			}
			want, named := c.want, c.variable != "" && c.config == ""
			if c.want == usual {
				want = "https://catalog.example" // the model's own, unless the user chose an address
			}
			if got.BaseURL != want {
				t.Errorf("address %q, want %q", got.BaseURL, want)
			}
			picked, err := models.Choose(t.Context())
			if err != nil || strings.Contains(picked.Reason, "P_BASE_URL") != named {
				t.Errorf("Choose() = %q, %v, want P_BASE_URL in it: %v", picked.Reason, err, named)
			}
			list, err := models.List(t.Context(), model.ListOptions{})
			if err != nil || len(list) != 1 || strings.Contains(list[0].Source, "P_BASE_URL") != named {
				t.Errorf("List() = %+v, %v, want P_BASE_URL in it: %v", list, err, named)
			}
			err = m.Stream(t.Context(), &sdk.ModelRequest{Model: m.Model}, func(sdk.StreamEvent) error { return nil })
			if strings.Contains(err.Error(), "P_BASE_URL") != named {
				t.Errorf("Stream() = %v, want P_BASE_URL in it: %v", err, named)
			}
			if _, err = models.Test(t.Context(), "p"); strings.Contains(err.Error(), "P_BASE_URL") != named {
				t.Errorf("Test() = %v, want P_BASE_URL in it: %v", err, named)
			}
		})
	}
}

// failing is a server that does not know the path.
type failing struct{}

func (failing) Stream(context.Context, *sdk.ModelRequest, func(sdk.StreamEvent) error) error {
	return &sdk.ProviderError{ProviderID: "p", StatusCode: 404, Message: "no such path"}
}

func (failing) ListModels(context.Context) ([]sdk.Model, error) {
	return nil, &sdk.ProviderError{ProviderID: "p", StatusCode: 401, Message: "bad key"}
}

// TestErrorsControlNoTerminal: texts of servers and plugins in errors are cleaned, and the chain stays.
func TestErrorsControlNoTerminal(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause \x1b]52;c;aGk=\a" + strings.Repeat("x", 10_000))
	for _, sent := range []*sdk.ProviderError{{ProviderID: "p", Err: cause}, {ProviderID: "p", StatusCode: 500, Message: "said \x1b[2J", Err: cause}} {
		models := model.New(model.Options{
			Config: &sdk.Config{}, Engine: &hooks.Engine{}, Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", NoKey: true}},
			Protocols: map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return broken{sent}, nil }}},
		})
		m, err := models.Open(t.Context(), "p/m", false)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Stream(t.Context(), &sdk.ModelRequest{Model: m.Model}, func(sdk.StreamEvent) error { return nil })
		_, listErr := models.Test(t.Context(), "p")
		for _, err := range []error{err, listErr} {
			if strings.ContainsAny(err.Error(), "\x1b\a") || len(err.Error()) > 8<<10 || !errors.Is(err, cause) {
				t.Errorf("error %q, want it cleaned, bounded, and with its cause", err)
			}
		}
	}
}

// broken fails with an error.
type broken struct{ err error }

func (b broken) Stream(context.Context, *sdk.ModelRequest, func(sdk.StreamEvent) error) error {
	return b.err
}

func (b broken) ListModels(context.Context) ([]sdk.Model, error) { return nil, b.err }

// lister refuses to list its models if status is set, and answers requests if the key is right.
type lister struct {
	speaker
	status int
	asked  *sdk.ModelRequest
}

func (l *lister) ListModels(context.Context) ([]sdk.Model, error) {
	if l.status != 0 {
		return nil, &sdk.ProviderError{ProviderID: "p", StatusCode: l.status, Message: "refused"}
	}
	return make([]sdk.Model, 3), nil
}

func (l *lister) Stream(ctx context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	l.asked = req
	return l.speaker.Stream(ctx, req, sink)
}

// TestTest: the key is tested by listing the models, or by a short request if the server has no list.
func TestTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status, models int
		asks, fails    bool
	}{
		"a list": {0, 3, false, false}, "no list": {404, 0, true, false}, "wrong method": {405, 0, true, false}, "a refused key": {401, 0, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := &lister{status: c.status, speaker: speaker{before: func() {}, after: func() {}}}
			models := model.New(model.Options{
				Config: &sdk.Config{}, Engine: &hooks.Engine{},
				Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", NoKey: true, Small: "small", Models: map[string]sdk.Model{"small": {}, "a": {}}}},
				Protocols: map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return client, nil }}},
			})
			n, err := models.Test(t.Context(), "p")
			if n != c.models || (err != nil) != c.fails || (client.asked != nil) != c.asks {
				t.Errorf("Test() = %d, %v, asked %v", n, err, client.asked)
			}
			if c.asks && (client.asked.Model.ID != "small" || client.asked.Params.MaxOutputTokens != 16 || len(client.asked.System) == 0) {
				t.Errorf("asked %+v, want a short request to the small model", client.asked)
			}
		})
	}
	none := model.New(model.Options{
		Config: &sdk.Config{}, Engine: &hooks.Engine{}, Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", NoKey: true}},
		Protocols: map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return &lister{status: 404}, nil }}},
	})
	if _, err := none.Test(t.Context(), "p"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Test() without a known model = %v, want ErrUnsupported", err)
	}
}

// TestAddressOfALocalServer: the reason for a local model names its address without what may be secret in it.
func TestAddressOfALocalServer(t *testing.T) {
	t.Parallel()
	models := model.New(model.Options{
		Config: &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": {Options: sdk.ProviderOptions{BaseURL: "http://alice:hunter2@127.0.0.1:1/v1?token=t"}}}},
		Engine: &hooks.Engine{}, Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", Local: true}},
		Protocols: map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return &lister{}, nil }}},
	})
	picked, err := models.Choose(t.Context())
	if want := "a model server answers at http://127.0.0.1:1/v1"; err != nil || picked.Reason != want {
		t.Errorf("Choose() = %q, %v, want %q", picked.Reason, err, want)
	}
}

// TestConfiguredServer: without a configured model, a server that the configuration adds is preferred to one that was found.
func TestConfiguredServer(t *testing.T) {
	t.Parallel()
	models := model.New(model.Options{
		Config: &sdk.Config{Provider: map[string]sdk.ProviderConfig{"mine": {Protocol: "x", Options: sdk.ProviderOptions{BaseURL: "http://127.0.0.1:2/v1"}}}},
		Engine: &hooks.Engine{}, Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", Local: true}},
		Protocols: map[string]sdk.Protocol{"x": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return &lister{}, nil }}},
	})
	if picked, err := models.Choose(t.Context()); err != nil || picked.Model.ProviderID != "mine" {
		t.Errorf("Choose() = %+v, %v, want a model of the configured server", picked, err)
	}
}

// TestUsualDialect: a server without protocol and npm in the configuration speaks Chat Completions, as in opencode.
func TestUsualDialect(t *testing.T) {
	t.Parallel()
	models := model.New(model.Options{
		Config: &sdk.Config{Provider: map[string]sdk.ProviderConfig{"mine": {Options: sdk.ProviderOptions{BaseURL: "http://127.0.0.1:2/v1"}}}},
		Engine: &hooks.Engine{}, Protocols: map[string]sdk.Protocol{"openai-chat": {Open: func(sdk.ProviderInfo) (sdk.ModelClient, error) { return &lister{}, nil }}},
	})
	if m, err := models.Open(t.Context(), "mine/x", false); err != nil || m.Provider.NPM != "@ai-sdk/openai-compatible" {
		t.Errorf("Open = %+v, %v, want the usual dialect", m, err)
	}
}

// TestSignInChooses: a sign-in selects the provider's newest model with tools. A variable alone does not, because it may be set
// for other programs.
func TestSignInChooses(t *testing.T) {
	t.Parallel()
	options := model.Options{
		Config: &sdk.Config{}, Engine: &hooks.Engine{}, Providers: []sdk.ProviderInfo{
			{ID: "p", Protocol: "x", Env: []string{"P_TOKEN"}, Models: map[string]sdk.Model{
				"a": {ToolCall: true, ReleaseDate: "2025-01-01"}, "b": {ToolCall: true, ReleaseDate: "2026-01-01"}, "c": {ReleaseDate: "2026-02-01"},
			}},
			{ID: "builtin", Protocol: "x", Models: map[string]sdk.Model{"m": {}}},
		},
	}
	options.Environ = []string{"P_TOKEN=secret"}
	picked, err := model.New(options).Choose(t.Context())
	if err != nil || picked.Model.ProviderID != "builtin" || !strings.Contains(picked.Reason, "P_TOKEN") {
		t.Errorf("with a variable: %+v, %v, want the built-in model because of P_TOKEN", picked, err)
	}
	options.Environ, options.SignIn = nil, func(r *model.SignInRequest) string { return map[string]string{"p": "tenon auth"}[r.Info.ID] }
	if picked, err := model.New(options).Choose(t.Context()); err != nil || picked.Model.Ref().String() != "p/b" {
		t.Errorf("with a sign-in: %+v, %v, want p/b", picked, err)
	}
	options.Providers[0].Models = map[string]sdk.Model{"embed": {}, "qwen": {ToolCall: true}}
	if picked, err := model.New(options).Choose(t.Context()); err != nil || picked.Model.Ref().String() != "p/qwen" {
		t.Errorf("without dates: %+v, %v, want p/qwen", picked, err)
	}
}

// TestPlan: a sign-in decides which of the catalog's models exist, their prices and limits; the configuration overrides it.
func TestPlan(t *testing.T) {
	t.Parallel()
	models := model.New(model.Options{
		Config: &sdk.Config{Provider: map[string]sdk.ProviderConfig{"p": {Models: map[string]sdk.ModelConfig{
			"mine": {}, "priced": {Cost: &sdk.ModelCost{Input: 7}}, "limited": {Limit: &sdk.ModelLimit{Context: 9}},
		}}}},
		Engine: &hooks.Engine{}, Environ: []string{}, Protocols: map[string]sdk.Protocol{},
		Providers: []sdk.ProviderInfo{{ID: "p", Protocol: "x", Models: map[string]sdk.Model{
			"a": {Cost: sdk.ModelCost{Input: 1}}, "priced": {Cost: sdk.ModelCost{Input: 1}}, "excluded": {}, "mine": {Cost: sdk.ModelCost{Input: 1}},
		}}},
		SignIn: func(r *model.SignInRequest) string {
			r.Info.Plan = func(m *sdk.Model) bool {
				m.Cost, m.Limit.Context = sdk.ModelCost{}, 5
				return m.APIID == "a" || m.APIID == "priced"
			}
			return "test"
		},
	})
	list, err := models.List(t.Context(), model.ListOptions{})
	type facts struct {
		price   sdk.Price
		context int64
	}
	got := map[string]facts{}
	for _, info := range list {
		got[info.Model.ID] = facts{info.Model.Cost.Input, info.Model.Limit.Context}
	}
	if want := map[string]facts{"a": {0, 5}, "priced": {7, 5}, "mine": {0, 5}, "limited": {0, 9}}; !maps.Equal(got, want) || err != nil {
		t.Errorf("List() = %v, %v, want %v", got, err, want)
	}
}
