package main_test

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWatch: a plugin that changes is loaded between turns of one session; one that is broken leaves the old one in force.
func TestWatch(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	p.output(t, 0, "plugin", "new", "w", "--carrier", "mcp", "--lang", "node")
	p.output(t, 0, "plugin", "trust", "./w", "--yes")
	server := filepath.Join(p.work, "w", "server.mjs")

	cmd := p.command("run", "--auto", "--plugin", "./w", "--watch", `w_greet {"name": "Ada"}`)
	in, err := cmd.StdinPipe()
	must(t, err)
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	must(t, cmd.Start())
	said := lines(out)
	defer func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the run ended with %v", err)
		}
		_ = w.Close()
		for range said { // ends with the pipe
		}
	}()

	want := func(text string) {
		t.Helper()
		timeout := time.After(30 * time.Second)
		var seen []string
		for {
			select {
			case line := <-said:
				if seen = append(seen, line); strings.Contains(line, text) {
					return
				}
			case <-timeout:
				t.Fatalf("%q did not appear after:\n%s", text, strings.Join(seen, "\n"))
			}
		}
	}
	ask := func(prompt string) {
		t.Helper()
		_, err := io.WriteString(in, prompt+"\n")
		must(t, err)
	}
	change := func(path, old, text string) {
		t.Helper()
		content, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, []byte(strings.Replace(string(content), old, text, 1)), 0o644))
	}

	want("Hello, Ada!")
	want("continue: ")
	change(server, "Hello, ", "Good day, ")
	want("reloaded")
	ask(`w_greet {"name": "Bea"}`)
	want("Good day, Bea!")
	want("continue: ")

	manifest := filepath.Join(p.work, "w", "plugin.json")
	change(manifest, `"name": "w"`, `"nam": "w"`)
	want("reload failed, the old plugins stay loaded")
	ask(`w_greet {"name": "Cleo"}`)
	want("Good day, Cleo!")
	want("continue: ")
	change(manifest, `"nam": "w"`, `"name": "w"`)
	want("reloaded")
	ask("how many?")
	want("continue: ")

	sessions, _ := p.output(t, 0, "session", "list", "--format", "json")
	if n := strings.Count(sessions, `"directory"`); n != 1 {
		t.Errorf("there are %d sessions, want all turns in one:\n%s", n, sessions)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines sends the lines of a stream.
func lines(r io.Reader) <-chan string {
	out := make(chan string, 1000)
	go func() { // ends with the stream
		defer close(out)
		for s := bufio.NewScanner(r); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}
