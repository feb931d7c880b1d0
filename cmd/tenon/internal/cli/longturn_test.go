package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/builtin/agents"
	"github.com/tenonhq/tenon/builtin/providers/openai"
	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/host/store/sqlite"
	"github.com/tenonhq/tenon/internal/credentials"
	"github.com/tenonhq/tenon/internal/fakellm"
	"github.com/tenonhq/tenon/internal/oauth"
	"github.com/tenonhq/tenon/sdk"
)

// Variables of a test process that runs one turn.
const (
	turnHome   = "TENON_TEST_TURN_HOME"   // the home directory
	turnServer = "TENON_TEST_TURN_SERVER" // the address of the model server
	turnNumber = "TENON_TEST_TURN_NUMBER" // the number of the process
)

// account is a model server with sign-in. A refresh token is accepted once. An access token is refused from some step of a turn on: the first
// from the first step, the next from the fourth, the next from the seventh. Every other access token also expires when it is issued.
type account struct {
	*httptest.Server
	mu      sync.Mutex
	issued  int // tokens
	reused  int // refresh tokens that were sent twice
	refused int // requests with a token that is no longer accepted
}

func newAccount(t *testing.T, model *fakellm.Server) *account {
	t.Helper()
	target, err := url.Parse(model.URL())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	steps := func(body []byte) int { return strings.Count(string(body), `"tool_call_id"`) }
	forward := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
	}}
	a := &account{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth/token", a.refresh)
	mux.HandleFunc("POST /v1/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err != nil || !a.accept(r.Header.Get("Authorization"), 1+steps(body)/3) {
			http.Error(w, `{"error":{"message":"token expired"}}`, http.StatusUnauthorized)
			return
		}
		forward.ServeHTTP(w, r)
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(func() { a.Close(); transport.CloseIdleConnections() })
	return a
}

// accept reports whether the server accepts a token: those from the first on that it issued.
func (a *account) accept(authorization string, first int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	var number int
	if _, err := fmt.Sscanf(authorization, "Bearer access%d", &number); err != nil || number < first {
		a.refused++
		return false
	}
	return true
}

func (a *account) refresh(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.FormValue("refresh_token") != fmt.Sprintf("refresh%d", a.issued) {
		a.reused++
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	a.issued++
	lifetime := 3600
	if a.issued%2 == 0 {
		lifetime = 1
	}
	fmt.Fprintf(w, `{"access_token":"access%d","refresh_token":"refresh%d","expires_in":%d}`, a.issued, a.issued, lifetime)
}

// workspaceAt returns a workspace with the home directory.
func workspaceAt(home string) *Workspace {
	project := sdk.Project{ID: GlobalProject, Directory: home, Worktree: home, Home: home, ConfigDir: home, DataDir: home, CacheDir: home}
	return &Workspace{
		App: &App{Mask: &maskWriter{}, Log: slog.New(slog.DiscardHandler)}, Project: project, Loaded: &config.Loaded{Config: &sdk.Config{}},
	}
}

// tick is a tool without effect.
type tick struct{}

func (tick) Definition() sdk.ToolDefinition {
	return sdk.ToolDefinition{ID: "tick", Parameters: []byte(`{"type":"object"}`)}
}

func (tick) Prepare(context.Context, *sdk.ToolCall) ([]sdk.PermissionRequest, error) { return nil, nil }

func (tick) Execute(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) {
	return &sdk.ToolResult{Output: "tock"}, nil
}

// longTurn runs one turn with the user's stored sign-in, and returns the answer.
func longTurn(ctx context.Context, home, database, server string) (answer string, err error) {
	w := workspaceAt(home)
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	token := oauth.Endpoint{HTTP: &http.Client{Transport: transport}, URL: server + "/oauth/token", ClientID: "c"}
	refresh := func(ctx context.Context, _ sdk.Object, old *sdk.Token) (*sdk.Token, error) {
		t, err := token.Request(ctx, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {old.Refresh}})
		if err != nil {
			return nil, err
		}
		return &sdk.Token{Access: t.Access, Refresh: t.Refresh, Expires: t.Expires}, nil
	}
	plugin := &sdk.Bundle{
		Info: sdk.Manifest{Name: "account", Carrier: sdk.CarrierBuiltin}, ToolList: []sdk.Tool{tick{}},
		AuthList:     []sdk.AuthMethod{{Provider: "p", ID: "m", Refresh: refresh}},
		ProviderList: []sdk.ProviderInfo{{ID: "p", Protocol: openai.ProtocolChat, BaseURL: server + "/v1", NoKey: true}},
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Path: database, Version: "test", Logger: w.App.Log})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	h, err := host.New(ctx, host.Options{
		Config: &sdk.Config{Model: "p/m", Permission: sdk.PermissionRules{{Permission: "*", Pattern: "*", Action: sdk.ActionAllow}}, Retry: sdk.RetryConfig{DelayMS: 1}},
		Store:  store, Logger: w.App.Log, Version: "test", Project: w.Project, SignIn: w.SignIn, ReloadOptions: host.ReloadOptions{Plugins: []sdk.Plugin{agents.New(), openai.New(), plugin}},
	})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, h.Close(context.WithoutCancel(ctx))) }()
	s, err := h.CreateSession(ctx, host.NewSession{})
	if err != nil {
		return "", err
	}
	out, err := h.Prompt(ctx, host.PromptInput{SessionID: s.ID, Text: "tick"})
	if err != nil {
		return "", err
	}
	for _, part := range out.Parts {
		if text, ok := part.(*sdk.TextPart); ok {
			answer += text.Text
		}
	}
	return answer, nil
}

// turnProcess is a process that runs one turn and prints the answer.
func turnProcess() int {
	home := os.Getenv(turnHome)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	answer, err := longTurn(ctx, home, filepath.Join(home, os.Getenv(turnNumber)+".db"), os.Getenv(turnServer))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print(answer)
	return 0
}

// TestRefreshesInLongTurns: in turns of ten steps, tokens expire by the clock and by the server's word, in one process and in two at a time.
// Every step succeeds, and no refresh token is sent twice.
func TestRefreshesInLongTurns(t *testing.T) {
	t.Parallel()
	for name, processes := range map[string]int{"one process": 1, "two processes": 2} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := fakellm.New(t)
			model.Handle(func(r fakellm.Request) fakellm.Reply {
				switch {
				case r.IsTitle():
					return fakellm.Text("Ticks")
				case len(r.Results()) < 9:
					return fakellm.Call("tick", "{}")
				}
				return fakellm.Text("done")
			})
			a := newAccount(t, model)
			home := t.TempDir()
			stored := credential(&sdk.AuthMethod{ID: "m"}, &sdk.Token{Access: "access0", Refresh: "refresh0"})
			if err := workspaceAt(home).Credentials().Put(t.Context(), credentials.ForProvider("p"), stored); err != nil {
				t.Fatal(err)
			}
			var running sync.WaitGroup
			for i := range processes {
				running.Go(func() { // ends with the process; waited for below
					cmd := exec.CommandContext(t.Context(), os.Args[0])
					cmd.Env = append(os.Environ(), turnHome+"="+home, turnServer+"="+a.URL, fmt.Sprintf("%s=%d", turnNumber, i))
					if out, err := cmd.CombinedOutput(); err != nil || string(out) != "done" {
						t.Errorf("process %d: %q, %v, want the answer", i, out, err)
					}
				})
			}
			running.Wait()
			a.mu.Lock()
			defer a.mu.Unlock()
			if requests := len(model.Requests()); a.reused > 0 || a.refused == 0 || a.issued < 4 || requests < 10*processes {
				t.Errorf("%d requests: %d refreshes, %d refusals, %d refresh tokens sent twice", requests, a.issued, a.refused, a.reused)
			}
		})
	}
}
