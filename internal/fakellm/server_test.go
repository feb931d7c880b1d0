package fakellm_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/internal/fakellm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatBody  = `{"model":"m","stream":true,"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"read"}}]}`
	titleBody = `{"model":"m","stream":true,"messages":[{"role":"system","content":"You name a session: give its title"},{"role":"user","content":"hi"}]}`
)

func client(t *testing.T) *http.Client {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// post returns the status, the whole body and the error that ended reading it.
func post(t *testing.T, srv *fakellm.Server, path, body string) (int, string, error) {
	t.Helper()
	res, err := client(t).Post(srv.URL()+path, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

func TestStreams(t *testing.T) {
	t.Parallel()
	reply := fakellm.Text("a", "b\"c").Reasoning("reasoning", "hm").Calls(
		fakellm.ToolCall{Name: "read", Args: `{"x":1}`, Chunks: 3}, fakellm.ToolCall{Name: "bad", Args: `{"x`})
	cases := map[string]struct {
		path, body string
		want       []string // in this order
	}{
		"chat": {"/chat/completions", chatBody, []string{
			`"content":"a"`, `"content":"b\"c"`, `"reasoning":"hm"`, `"id":"call_1"`, `"arguments":"{\""`, `"arguments":"x\""`, `"arguments":"{\"x"`,
			`"finish_reason":"tool_calls"`, `"prompt_tokens":10`, "data: [DONE]\n\n",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := fakellm.New(t, reply)
			status, got, err := post(t, srv, c.path, c.body)
			if status != 200 || err != nil {
				t.Fatalf("status %d, error %v", status, err)
			}
			rest := got
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("%q is missing or out of order in\n%s", want, got)
				}
				rest = after
			}
			for line := range strings.Lines(got) {
				data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
				if ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("not JSON: %s", data)
				}
			}
			req := srv.Requests()[0]
			got = strings.Join([]string{req.Model(), req.System(), req.LastUser(), strings.Join(req.Tools(), ",")}, "|")
			if want := "m|be brief|hi|read"; got != want {
				t.Errorf("request = %q, want %q", got, want)
			}
		})
	}
}

func TestScriptRoutesAndTitles(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t, fakellm.Text("one"), fakellm.Text("two"))
	srv.Route(func(r fakellm.Request) bool { return r.Model() == "other" }, fakellm.Text("routed"))
	var got []string
	for _, body := range []string{chatBody, titleBody, strings.Replace(chatBody, `"m"`, `"other"`, 1), chatBody} {
		_, answer, err := post(t, srv, "/chat/completions", body)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(answer, `"content":"`)
		text, _, _ = strings.Cut(text, `"`)
		got = append(got, text)
	}
	want := []string{"one", "A fine title", "routed", "two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(srv.Requests()) != 4 || len(srv.Turns()) != 3 {
		t.Errorf("%d requests, %d turns; want 4, 3", len(srv.Requests()), len(srv.Turns()))
	}
}

func TestBeyondTheScriptIsRefused(t *testing.T) {
	t.Parallel()
	srv := fakellm.Start()
	t.Cleanup(srv.Close)
	if status, body, _ := post(t, srv, "/chat/completions", chatBody); status != 400 || !strings.Contains(body, "script") {
		t.Errorf("status %d, body %s; want a refusal", status, body)
	}
	srv.Always(fakellm.Text("again"))
	for range 2 {
		if status, _, _ := post(t, srv, "/chat/completions", chatBody); status != 200 {
			t.Errorf("status %d after Always, want 200", status)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply  fakellm.Reply
		status int
		body   string // what the body contains
		fails  bool   // reading it fails
	}{
		"raw":       {reply: fakellm.Raw("not: an\x00event"), status: 200, body: "not: an"},
		"cut":       {reply: fakellm.Text("x").Cut().Text("never"), status: 200, body: `"x"`, fails: true},
		"no finish": {reply: fakellm.Text("x").Finish(fakellm.NoFinish), status: 200, body: `"x"`},
		"overflow":  {reply: fakellm.Overflows()["llama.cpp"], status: 400, body: "context"},
		"usage":     {reply: fakellm.Text("x").Usage(fakellm.Usage{Input: 9, Cached: 4}), status: 200, body: `"cached_tokens":4`},
		"header":    {reply: fakellm.Error(500, "server_error", "down").Header("X-Y", "z"), status: 500, body: "down"},
		"pause":     {reply: fakellm.Text("x").Pause(time.Millisecond), status: 200, body: "x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body, err := post(t, fakellm.New(t, c.reply), "/chat/completions", chatBody)
			if status != c.status || !strings.Contains(body, c.body) || (err != nil) != c.fails {
				t.Errorf("status %d, body %q, error %v; want %d, %q, failure %v", status, body, err, c.status, c.body, c.fails)
			}
			if strings.Contains(body, "never") {
				t.Errorf("the body continues after the cut: %q", body)
			}
		})
	}
}

func TestStallNeverAndEndlessEndWithTheClientOrTheServer(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]fakellm.Reply{
		"stall": fakellm.Text("x").Stall(), "never": fakellm.Never(), "endless": fakellm.Text("x", "y").Endless(),
		"wait": fakellm.Text("x").Wait(make(chan struct{})),
	} {
		for _, byServer := range []bool{true, false} {
			srv := fakellm.Start(reply)
			ctx := t.Context()
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL()+"/chat/completions", strings.NewReader(chatBody))
			c := client(t)
			if name == "never" {
				go srv.Close()
				if res, err := c.Do(req); err == nil {
					_ = res.Body.Close()
					t.Error("never answered")
				}
				srv.Close()
				continue
			}
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if !byServer {
				_ = res.Body.Close()
			}
			srv.Close() // returns only when the handler did
			srv.Close()
			_ = res.Body.Close()
		}
	}
}

func TestWaitRequests(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t, fakellm.Text("x"))
	if srv.WaitRequests(1, time.Millisecond) {
		t.Error("WaitRequests = true before any request")
	}
	if _, _, err := post(t, srv, "/chat/completions", chatBody); err != nil {
		t.Fatal(err)
	}
	if !srv.WaitRequests(1, time.Second) {
		t.Error("WaitRequests = false after a request")
	}
}

func TestCallIDsAreUniqueForTheServer(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t)
	srv.Always(fakellm.Call("a", "{}").Call("b", "{}"))
	for _, want := range [][]string{{"call_1", "call_2"}, {"call_3", "call_4"}} {
		_, body, _ := post(t, srv, "/chat/completions", chatBody)
		for _, id := range want {
			if !strings.Contains(body, `"id":"`+id+`"`) {
				t.Errorf("no call %s in %s", id, body)
			}
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	srv := fakellm.New(t)
	srv.SetModels("a", "b")
	res, err := client(t).Get(srv.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	if !strings.Contains(string(data), `"id":"a"`) || len(srv.Requests()) != 0 {
		t.Errorf("models = %s, %d requests recorded", data, len(srv.Requests()))
	}
}

// BenchmarkServe20000 shows what of a client benchmark is the server's part.
func BenchmarkServe20000(b *testing.B) {
	srv := fakellm.Start()
	defer srv.Close()
	srv.Always(fakellm.Repeat("word ", 20_000))
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		res, err := (&http.Client{Transport: tr}).Post(srv.URL()+"/chat/completions", "application/json", strings.NewReader(chatBody))
		if err != nil {
			b.Fatal(err)
		}
		n, _ := io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		b.SetBytes(n)
	}
}

func TestOverflows(t *testing.T) {
	t.Parallel()
	if n := len(fakellm.Overflows()); n < 20 {
		t.Errorf("%d servers, want at least 20", n)
	}
}
