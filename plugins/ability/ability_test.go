package ability_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/plugins/ability"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// everything is a grant for each capability the broker knows.
func everything() []sdk.Capability {
	return []sdk.Capability{
		grant("kv"), grant("config"), grant("secret", "TOKEN"), grant("clock"), grant("tool", "read", "mcp_*"),
		grant("session"), grant("ask"), grant("model"), grant("http", "https://example.com"),
	}
}

// operations are all operations with a request and the capability each needs.
func operations() map[string][2]string {
	return map[string][2]string{
		"kv.get":        {`{"key":"a"}`, "kv"},
		"kv.set":        {`{"key":"a","value":"b"}`, "kv"},
		"kv.delete":     {`{"key":"a"}`, "kv"},
		"kv.keys":       {`{}`, "kv"},
		"config":        {`{}`, "config"},
		"secret":        {`{"name":"TOKEN"}`, "secret"},
		"time":          {`{}`, "clock"},
		"http":          {`{"url":"https://example.com/"}`, "http"},
		"http.read":     {`{"stream":1}`, "http"},
		"http.close":    {`{"stream":1}`, "http"},
		"signin.notice": {`{"text":"a"}`, "auth"},
		"signin.code":   {`{"address":"a","code":"b"}`, "auth"},
		"signin.visit":  {`{"address":"a"}`, "auth"},
		"tool":          {`{"tool":"read","args":{"filePath":"a"}}`, "tool"},
		"session":       {`{}`, "session"},
		"ask":           {`{"permission":"deploy","patterns":["prod"]}`, "ask"},
		"question":      {`{"questions":[{"question":"Go on?"}]}`, "ask"},
		"sample":        {`{"messages":[]}`, "model"},
	}
}

func TestEveryOperationNeedsItsGrant(t *testing.T) {
	t.Parallel()
	for op, o := range operations() {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			var others []sdk.Capability
			for _, c := range everything() {
				if c.Name != o[1] {
					others = append(others, c)
				}
			}
			b := newBroker(t, ability.Options{Grants: others})
			h := &host{}
			b.Bind(h)
			status, text := do(t, b, op, o[0])
			if status != guest.StatusDenied || !strings.Contains(text, `"`+o[1]+`"`) || !strings.Contains(text, `"p"`) {
				t.Errorf("%s = %v %q, want denied with the plugin and the capability %s", op, status, text, o[1])
			}
			if h.last() != "" {
				t.Errorf("the host was asked: %s", h.last())
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	b := newBroker(t, ability.Options{Grants: everything(), Secret: func(name string) (string, bool) { return "s3cret", name == "TOKEN" }})
	h := &host{}
	b.Bind(h)
	for _, c := range []struct{ op, request, answer, asked string }{
		{"config", ``, `{"model":"offline/small"}`, ""},
		{"secret", `{"name":"TOKEN"}`, `{"value":"s3cret"}`, ""},
		{"tool", `{"tool":"read"}`, `{"title":"","output":"out"}`, `tool {"sessionID":"s1","tool":"read","args":{}}`},
		{"tool", `{"tool":"mcp_x_y","args":{"a":1},"sessionID":"s1"}`, "", `tool {"sessionID":"s1","tool":"mcp_x_y","args":{"a":1}}`},
		{"session", `{}`, `{"messages":[]}`, `session "s1"`},
		{
			"ask", `{"permission":"deploy","patterns":["prod"],"agent":"root","args":{"x":1},"id":"per_1","tool":{"callID":"c"}}`, `{}`,
			`ask {"id":"","sessionID":"s1","permission":"deploy","patterns":["prod"],"always":null,"metadata":null}`,
		},
		{"question", `{"questions":[{"question":"Go on?","form":{"message":"MCP server s: Go on?","url":"https://a.example"}}]}`, `{"answers":[["yes"]]}`, `question s1 [{"question":"plugin p: Go on?","header":"","options":null}]`},
		{"sample", `{"messages":[],"small":true}`, `{"text":"hi","model":"m/x","finishReason":"stop"}`, `sample {"sessionID":"s1","messages":[],"small":true}`},
	} {
		want(t, b, c.op, c.request, c.answer)
		if c.asked != "" && h.last() != c.asked {
			t.Errorf("%s %s asked the host for %s, want %s", c.op, c.request, h.last(), c.asked)
		}
	}
	before := time.Now().UnixMilli()
	status, text := do(t, b, "time", "")
	var answer struct{ UnixMilli int64 }
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != guest.StatusOK || answer.UnixMilli < before {
		t.Errorf("time = %v %s, want at least %d", status, text, before)
	}
}

// In a tool call the call's own host answers, so that what is asked is shown with the call.
func TestToolCall(t *testing.T) {
	t.Parallel()
	b := newBroker(t, ability.Options{Grants: everything()})
	b.Bind(bareHost{})
	call := &callHost{}
	c := ability.Caller{SessionID: "s1", Tool: call}
	for _, o := range []struct{ op, request, answer, asked string }{
		{"progress", `{"title":"half","metadata":{"n":1}}`, `{}`, `progress half {"n":1}`},
		{"ask", `{"permission":"deploy","patterns":[]}`, `{}`, `call ask {"id":"","sessionID":"s1","permission":"deploy","patterns":[],"always":null,"metadata":null}`},
		{"session", `{}`, `{"messages":[]}`, `call messages null`},
		{"question", `{"questions":[{"question":"q"}]}`, `{"answers":[["no"]]}`, `call question [{"question":"plugin p: q","header":"","options":null}]`},
	} {
		status, answer := b.Do(t.Context(), c, o.op, []byte(o.request))
		if status != guest.StatusOK || string(answer) != o.answer || call.last() != o.asked {
			t.Errorf("%s = %v %s and asked %s, want %s and %s", o.op, status, answer, call.last(), o.answer, o.asked)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	noCall := ability.Caller{}
	s1 := ability.Caller{SessionID: "s1"}
	for name, c := range map[string]struct {
		host    sdk.Host
		caller  ability.Caller
		op      string
		request string
		status  guest.Status
		text    string
	}{
		"unknown operation":     {&host{}, s1, "fs.read", `{}`, guest.StatusUnknown, `unknown operation "fs.read"`},
		"empty operation":       {&host{}, s1, "", `{}`, guest.StatusUnknown, `unknown operation ""`},
		"case matters":          {&host{}, s1, "KV.get", `{}`, guest.StatusUnknown, "KV.get"},
		"a wrong type":          {&host{}, s1, "kv.get", `{"key":1}`, guest.StatusFailed, "kv.get: bad request: key: want a string, have number"},
		"no JSON":               {&host{}, s1, "kv.get", `{`, guest.StatusFailed, "kv.get: bad request"},
		"wrong type":            {&host{}, s1, "kv.get", `{"key":1}`, guest.StatusFailed, "key"},
		"no UTF-8":              {&host{}, s1, "kv.get", "{\"key\":\"\xff\"}", guest.StatusFailed, "UTF-8"},
		"progress without call": {&host{}, s1, "progress", `{}`, guest.StatusFailed, "only a tool call"},
		"no session":            {&host{}, noCall, "session", `{}`, guest.StatusFailed, "not called for a session"},
		"no session for a tool": {&host{}, noCall, "tool", `{"tool":"read"}`, guest.StatusFailed, "not called for a session"},
		"ask for nothing":       {&host{}, s1, "ask", `{}`, guest.StatusFailed, "permission"},
		"no questions":          {&host{}, s1, "question", `{}`, guest.StatusFailed, "questions"},
		"host without tools":    {bareHost{}, s1, "tool", `{"tool":"read"}`, guest.StatusFailed, "this host does not give plugins tool calls"},
		"host without sessions": {bareHost{}, s1, "session", `{}`, guest.StatusFailed, "the messages of a session"},
		"host without leave":    {bareHost{}, s1, "ask", `{"permission":"x"}`, guest.StatusFailed, "permission outside"},
		"host without user":     {bareHost{}, s1, "question", `{"questions":[{}]}`, guest.StatusFailed, "questions"},
		"host without model":    {bareHost{}, s1, "sample", `{}`, guest.StatusFailed, "the model"},
		"host without config":   {bareHost{}, s1, "config", `{}`, guest.StatusFailed, "the configuration"},
		"before Bind":           {nil, s1, "config", `{}`, guest.StatusFailed, "the configuration"},
		"secret not set":        {&host{}, s1, "secret", `{"name":"TOKEN"}`, guest.StatusFailed, "TOKEN"},
		"refusal":               {&host{fail: &sdk.Refusal{Reason: "not on Fridays", By: "user"}}, s1, "ask", `{"permission":"x"}`, guest.StatusFailed, "not on Fridays (refused by user)"},
		"error of the host":     {&host{fail: errors.New("gone")}, s1, "sample", `{}`, guest.StatusFailed, "sample: gone"},
		"panic of the host":     {&host{panic: true}, s1, "tool", `{"tool":"read"}`, guest.StatusFailed, "tool: internal error in the host"},
		"panic in progress":     {nil, ability.Caller{Tool: &callHost{host{panic: true}}}, "progress", `{}`, guest.StatusFailed, "internal error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t, ability.Options{Grants: everything(), Secret: func(string) (string, bool) { return "", false }})
			if c.host != nil {
				b.Bind(c.host)
			}
			status, answer := b.Do(t.Context(), c.caller, c.op, []byte(c.request))
			if status != c.status || !strings.Contains(string(answer), c.text) {
				t.Errorf("%s %s = %v %q, want %v with %q", c.op, c.request, status, answer, c.status, c.text)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	b := newBroker(t, ability.Options{Grants: everything(), Limits: ability.Limits{RequestBytes: 100, ResponseBytes: 20}})
	b.Bind(&host{})
	if status, text := do(t, b, "kv.get", `{"key":"`+strings.Repeat("k", 100)+`"}`); status != guest.StatusLimited || !strings.Contains(text, "100") {
		t.Errorf("large request = %v %s, want limited", status, text)
	}
	if status, text := do(t, b, "config", `{}`); status != guest.StatusLimited || !strings.Contains(text, "20") {
		t.Errorf("large answer = %v %s, want limited", status, text)
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBroker(t, ability.Options{Limits: ability.Limits{Rate: 10, Burst: 3}})
		ask := func(want guest.Status) {
			t.Helper()
			if status, text := do(t, b, "kv.get", `{}`); status != want {
				t.Errorf("kv.get = %v %s, want %v", status, text, want)
			}
		}
		ask(guest.StatusDenied)
		ask(guest.StatusDenied)
		if status, text := do(t, b, "nothing", `{}`); status != guest.StatusUnknown { // counts, too
			t.Errorf("nothing = %v %s, want unknown", status, text)
		}
		ask(guest.StatusLimited)
		time.Sleep(100 * time.Millisecond)
		ask(guest.StatusDenied)
		ask(guest.StatusLimited)
	})
}

// hangingHost waits in the model until it is stopped.
type hangingHost struct {
	host
	entered chan struct{}
}

func (h *hangingHost) Sample(ctx context.Context, _ sdk.SampleRequest) (*sdk.SampleResult, error) {
	close(h.entered)
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestCloseEndsWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	b := ability.New(ability.Options{Plugin: "p", Grants: everything()})
	h := &hangingHost{entered: make(chan struct{})}
	b.Bind(h)
	done := make(chan guest.Status)
	go func() {
		status, _ := b.Do(context.WithoutCancel(t.Context()), ability.Caller{SessionID: "s1"}, "sample", nil)
		done <- status
	}()
	<-h.entered
	for range 2 {
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if status := <-done; status != guest.StatusFailed {
		t.Errorf("an operation under way ended with %v, want failed", status)
	}
	if status, text := do(t, b, "config", ""); status != guest.StatusFailed || !strings.Contains(text, "closed") {
		t.Errorf("after Close: %v %s, want failed", status, text)
	}
}

func TestCancelledCaller(t *testing.T) {
	t.Parallel()
	b := newBroker(t, ability.Options{Grants: everything()})
	h := &host{}
	b.Bind(h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if status, _ := b.Do(ctx, ability.Caller{SessionID: "s1"}, "tool", []byte(`{"tool":"read"}`)); status != guest.StatusFailed || h.last() != "" {
		t.Errorf("a call that is over = %v and asked the host for %q", status, h.last())
	}
}

func TestSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	b := newBroker(t, ability.Options{
		Grants: everything(), Secret: func(string) (string, bool) { return "s3cret", true },
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Limits: ability.Limits{ResponseBytes: 5},
	})
	b.Bind(&host{})
	do(t, b, "secret", `{"name":"TOKEN"}`)
	do(t, b, "http", `{"url":"https://evil.example/?key=s3cret","headers":{"authorization":"s3cret"}}`)
	do(t, b, "kv.set", `{"key":"","value":"s3cret"}`)
	if !strings.Contains(log.String(), "denied") {
		t.Errorf("the log does not tell a denied request:\n%s", &log)
	}
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log holds the secret:\n%s", &log)
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for entry, text := range map[string]string{
		"https://example.com":            "",
		"HTTPS://EXAMPLE.com.":           "",
		"http://localhost:8080":          "",
		"https://*.example.com:8443":     "",
		"http://127.0.0.1:9000":          "",
		"http://[::1]:9000":              "",
		"https://xn--bcher-kva.example":  "",
		"https://*":                      "invalid address",
		"*":                              "invalid address",
		"https://*.com":                  "too wide",
		"https://*.co.uk":                "too wide",
		"https://*.github.io":            "too wide",
		"https://*.s3.amazonaws.com":     "too wide",
		"https://*.Kawasaki.JP":          "too wide",
		"https://*.localhost":            "too wide",
		"https://*.127.0.0.1":            "no subdomains",
		"https://*.[::1]":                "no subdomains",
		"https://a*.example.com":         "invalid address",
		"https://*.*.example.com":        "invalid address",
		"https://example.com/path":       "invalid address",
		"https://example.com/":           "invalid address",
		"https://user@example.com":       "invalid address",
		"https://bücher.example":         "ASCII form",
		"ftp://example.com":              "only http and https",
		"example.com":                    "invalid address",
		"https://":                       "invalid address",
		"https://example.com:0":          "port",
		"https://example.com:":           "port",
		"https://example.com:99999":      "port",
		"https://example.com:https":      "port",
		"https://0x7f000001":             "another way to write an IP address",
		"https://exa mple.com":           "invalid address",
		"https://[fe80::1%25eth0]":       "zones",
		"https://example..com":           "invalid host name",
		"https://example.com:443#x":      "invalid address",
		"https://example.com?x=https://": "invalid address",
	} {
		err := ability.CheckAddress(entry)
		if (err == nil) != (text == "") || err != nil && !strings.Contains(err.Error(), text) {
			t.Errorf("CheckAddress(%q) = %v, want %q", entry, err, text)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"read", "read", true}, {"read", "reads", false}, {"read", "", false}, {"*", "", true}, {"*", "any", true},
		{"mcp_*", "mcp_a", true}, {"mcp_*", "mcp", false}, {"*_a", "b_a", true}, {"*_a", "b_ab", false},
		{"a*b*c", "aXbYc", true}, {"a*b*c", "ac", false}, {"a*b*c", "abcX", false}, {"a*a", "a", false}, {"a**b", "ab", true},
		{"", "", true}, {"", "x", false}, {"ab*bc", "abc", false}, {"*a*", "b", false}, {"a*b*c", "a-c-b", false}, {"session.*", "sessions", false},
		{strings.Repeat("*a", 1000) + "b", strings.Repeat("a", 10_000), false},
	} {
		if got := ability.Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}
