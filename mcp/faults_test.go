package mcp_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenonhq/tenon/mcp"
)

// These servers break the protocol in ways that a client can tolerate.
func TestUnrulyServers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"garbage", "duplicate", "batch", "flood"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := ready(t, newTestHost(t), fake(t, mode))
			for range 5 {
				if got := mustRun(t, p, "fake_echo", `{"text":"hello"}`).Output; got != "hello" {
					t.Errorf("echo = %q", got)
				}
			}
		})
	}
}

// Servers that cannot be used do not delay anything, and their errors say why.
func TestUselessServers(t *testing.T) {
	t.Parallel()
	garbage := filepath.Join(t.TempDir(), "program.exe")
	if err := os.WriteFile(garbage, []byte("\x01\x02 no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		server func(*mcp.Server)
		mode   string
		want   string
	}{
		"exits":      {mode: "exit", want: "cannot find my configuration"},
		"hangs":      {mode: "hang", server: func(s *mcp.Server) { s.Timeout = 200 * time.Millisecond }, want: "in 200ms"},
		"no newline": {mode: "endless", want: "16 MiB"},
		"missing":    {mode: "plain", server: func(s *mcp.Server) { s.Command = "no-such-command-here" }, want: "not in PATH"},
		"one text":   {mode: "plain", server: func(s *mcp.Server) { s.Command = "npx -y a" }, want: `"-y a" are arguments`},
		"no file":    {mode: "plain", server: func(s *mcp.Server) { s.Command = "/no/such/file" }, want: "/no/such/file"},
		"no program": {mode: "plain", server: func(s *mcp.Server) { s.Command = garbage }, want: garbage},
		"no folder":  {mode: "plain", server: func(s *mcp.Server) { s.Cwd = "/no/such/folder" }, want: "/no/such/folder"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fake(t, test.mode)
			if test.server != nil {
				test.server(&s)
			}
			p := start(t, newTestHost(t), s, mcp.Options{})
			if tools := p.Tools(); len(tools) != 0 {
				t.Errorf("tools = %v", tools)
			}
			eventually(t, "failed", func() bool { return p.Status().State == "failed" })
			if reason := p.Status().Reason; !strings.Contains(reason, test.want) || strings.Contains(reason, "context deadline") {
				t.Errorf("reason = %q, want %q in it, for users", reason, test.want)
			}
		})
	}
}

// Each page of a list is requested once, and tools that are left out are named.
func TestPages(t *testing.T) {
	t.Parallel()
	for pages, want := range map[int]struct {
		tools, requests int
		more            bool
	}{1: {50, 1, false}, 3: {150, 3, false}, 40: {2000, 40, false}, 60: {2000, 41, true}} {
		count := filepath.Join(t.TempDir(), "count")
		definition, err := mcp.Probe(t.Context(), fake(t, "pages", "COUNT="+count, fmt.Sprintf("PAGES=%d", pages)), newTestHost(t).project, mcp.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		_, withheld := (*mcp.Pin)(nil).Offer(definition)
		if n := len(linesWith(t, count, "list")); len(definition.Tools) != want.tools || n != want.requests || (len(withheld) > 0) != want.more {
			t.Errorf("%d pages: %d tools in %d requests, withheld %v, want %+v", pages, len(definition.Tools), n, withheld, want)
		}
	}
}

// Servers that are not needed yet do not all start at the same time; one that is needed does not wait.
func TestTurns(t *testing.T) {
	t.Parallel()
	const servers, atOnce = 5, 2
	var mu sync.Mutex
	running, most, asked := 0, 0, map[string]bool{}
	answer := make(chan struct{})
	far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		running++
		most, asked[r.URL.Path] = max(most, running), true
		mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is seen
		select {
		case <-answer:
		case <-r.Context().Done():
		}
		mu.Lock()
		running--
		mu.Unlock()
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(far.Close)
	turns := make(chan struct{}, atOnce)
	for i := range servers {
		s := mcp.Server{Name: fmt.Sprint("far ", i), Transport: mcp.TransportHTTP, URL: fmt.Sprint(far.URL, "/", i), Own: true}
		start(t, newTestHost(t), s, mcp.Options{Dir: t.TempDir(), Turns: turns})
	}
	all := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(asked) >= n
		}
	}
	eventually(t, "the first starts", all(atOnce))
	s, o := fake(t, "plain"), mcp.Options{Dir: t.TempDir(), Turns: turns}
	h := newTestHost(t)
	definition, err := mcp.Probe(t.Context(), s, h.project, o)
	if err == nil {
		err = mcp.Approve(mcp.FilePins(o.Dir), s, definition)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, start(t, h, s, o), "fake_echo", `{"text":"a"}`).Output; got != "a" {
		t.Errorf("echo = %q", got)
	}
	close(answer)
	eventually(t, "the other starts", all(servers))
	mu.Lock()
	defer mu.Unlock()
	if most > atOnce {
		t.Errorf("%d servers started at the same time, want %d", most, atOnce)
	}
}

// The tools of an approved server are available before it runs; the first call waits for it.
func TestPinnedServerStartsWhenNeeded(t *testing.T) {
	t.Parallel()
	s, o := fake(t, "plain"), mcp.Options{Dir: t.TempDir()}
	h := newTestHost(t)
	definition, err := mcp.Probe(t.Context(), s, h.project, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := mcp.Approve(mcp.FilePins(o.Dir), s, definition); err != nil {
		t.Fatal(err)
	}
	p := start(t, h, s, o)
	if st := p.Status(); st.State != "idle" || st.Tools == 0 {
		t.Errorf("status = %+v, want tools and no process", st)
	}
	if got := mustRun(t, p, "fake_echo", `{"text":"a"}`).Output; got != "a" {
		t.Errorf("echo = %q", got)
	}
	if st := p.Status(); st.State != "ready" || st.Starts != 1 {
		t.Errorf("status = %+v", st)
	}
}

// A run that ends before a server has started reports it only if the tools were not there.
func TestUnstarted(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]bool{"new": false, "approved": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, o, h := fake(t, "hang"), mcp.Options{Dir: t.TempDir()}, newTestHost(t)
			if known {
				if err := mcp.FilePins(o.Dir).Save(s, &mcp.Pin{Definition: mcp.Definition{Instructions: "x"}}); err != nil { // checked long ago
					t.Fatal(err)
				}
			}
			p := start(t, h, s, o)
			p.Tools()
			eventually(t, "starting", func() bool { return p.Status().State == "starting" })
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if reported := strings.Contains(h.log.String(), "it had not started when the run ended"); reported == known {
				t.Errorf("reported: %v, log %s", reported, h.log.String())
			}
		})
	}
}

func linesWith(t testing.TB, path, text string) []string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	var out []string
	for _, line := range strings.SplitAfter(string(raw), "\n") {
		if strings.Contains(line, text) {
			out = append(out, line)
		}
	}
	return out
}

// Only a tool that says that it changes nothing is called again, and only once.
func TestRepeat(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	p := ready(t, newTestHost(t), fake(t, "plain", "COUNT="+count))
	if _, err := run(t.Context(), t, p, "fake_die", "{}"); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("die: %v", err)
	}
	if got := mustRun(t, p, "fake_die_reading", "{}").Output; got != "alive" {
		t.Errorf("die reading = %q", got)
	}
	if n, m := len(linesWith(t, count, "die\n")), len(linesWith(t, count, "die reading\n")); n != 1 || m != 2 {
		t.Errorf("die was run %d times, die reading %d times", n, m)
	}
}

// A server that announces a change with each list gets a few requests a second, and neither its errors nor its new tools fill the log.
func TestStorm(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	h := newTestHost(t)
	begin := time.Now()
	s := fake(t, "storm", "COUNT="+count)
	s.Name = "my fake"
	ready(t, h, s)
	const lists, gap = 20, 200 * time.Millisecond
	eventually(t, "lists", func() bool {
		raw, _ := os.ReadFile(count)
		return strings.Count(string(raw), "list") >= lists
	})
	if took := time.Since(begin); took < (lists-1)*gap {
		t.Errorf("%d lists in %s", lists, took)
	}
	const hint = "tenon mcp logs 'my fake'"
	eventually(t, "the hint", func() bool { return strings.Contains(h.log.String(), hint) })
	if n := strings.Count(h.log.String(), "alas"); n != 9 {
		t.Errorf("%d errors were logged", n)
	}
	const more = `fix="tenon mcp trust 'my fake'"`
	eventually(t, "many tools", func() bool { return strings.Contains(h.log.String(), more) })
	if n := strings.Count(h.log.String(), "withheld an item"); n != 20 {
		t.Errorf("%d items were logged", n)
	}
}

// A change that a server announces while its lists are first read is not lost.
func TestChangeDuringStart(t *testing.T) {
	t.Parallel()
	count := filepath.Join(t.TempDir(), "count")
	ready(t, newTestHost(t), fake(t, "growing", "COUNT="+count))
	eventually(t, "another list", func() bool { return len(linesWith(t, count, "list")) >= 2 })
}
