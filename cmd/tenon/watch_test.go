package main_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWatch: a plugin that changes is loaded between turns of one session; one that is broken leaves the old one in force.
func TestWatch(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`, "W_API_KEY=not-a-valid-name!")
	p.output(t, 0, "plugin", "new", "w", "--carrier", "mcp", "--lang", "node")
	p.output(t, 0, "plugin", "trust", "./w", "--yes")
	server := filepath.Join(p.work, "w", "server.mjs")

	cmd := p.command("run", "--auto", "--plugin", "./w", "--watch", `w_greet {"name": "Ada"}`)
	c := converse(t, cmd)
	defer c.end()
	change := func(path, old, text string) {
		t.Helper()
		content, err := os.ReadFile(path)
		must(t, err)
		must(t, os.WriteFile(path, []byte(strings.Replace(string(content), old, text, 1)), 0o644))
	}

	c.want("Hello, Ada!")
	c.want("continue: ")
	change(server, "Hello, ", "Good day, ")
	c.want("reloaded")
	c.ask(`w_greet {"name": "Bea"}`)
	c.want("Good day, Bea!")
	c.want("continue: ")

	manifest := filepath.Join(p.work, "w", "plugin.json")
	change(manifest, `"name": "w"`, `"name": "not-a-valid-name!"`)
	c.want("********") // the reload failed with an error that quotes the secret
	c.ask(`w_greet {"name": "Cleo"}`)
	c.want("Good day, Cleo!")
	c.want("continue: ")
	change(manifest, `"name": "not-a-valid-name!"`, `"name": "w"`)
	c.want("reloaded")
	c.ask("how many?")
	c.want("continue: ")

	sessions, _ := p.output(t, 0, "session", "list", "--format", "json")
	if n := strings.Count(sessions, `"directory"`); n != 1 {
		t.Errorf("there are %d sessions, want all turns in one:\n%s", n, sessions)
	}
}

// TestWatchBroken: code that no longer starts leaves the old one in force.
func TestWatchBroken(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	p.output(t, 0, "plugin", "new", "w", "--carrier", "process", "--lang", "node")
	p.output(t, 0, "plugin", "trust", "./w", "--yes")
	c := converse(t, p.command("run", "--auto", "--plugin", "./w", "--watch"))
	defer c.end()
	c.want("watching")
	must(t, os.WriteFile(filepath.Join(p.work, "w", "main.mjs"), []byte("import {"), 0o644))
	c.want("the old plugins stay loaded")
	c.ask(`w_greet {"name": "Ada"}`)
	c.want("Hello, Ada!")
	c.want("continue: ")
}

// TestWatchUnapproved: the reload of a plugin that was never approved names this as the problem.
func TestWatchUnapproved(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "")
	p.env = append(p.env, `TENON_CONFIG_CONTENT={"enabled_providers": ["offline"]}`)
	p.output(t, 0, "plugin", "new", "w", "--carrier", "mcp", "--lang", "node")
	c := converse(t, p.command("run", "--plugin", "./w", "--watch"))
	defer c.end()
	c.want("watching")
	c.ask("hello")
	c.want("continue: ")
	must(t, os.WriteFile(filepath.Join(p.work, "w", "server.mjs"), []byte("// changed"), 0o644))
	c.want("the old plugins stay loaded: w is not approved: tenon plugin trust ")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// conversation is a command that takes prompts as lines.
type conversation struct {
	t    *testing.T
	in   io.Writer
	said <-chan string // lines of both outputs
	end  func()        // closes the input and waits for the command, which must succeed
}

func converse(t *testing.T, cmd *exec.Cmd) *conversation {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	must(t, cmd.Start())
	said := lines(out)
	return &conversation{t: t, in: in, said: said, end: func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the command ended with %v", err)
		}
		_ = w.Close()
		for range said { // ends with the pipe
		}
	}}
}

func (c *conversation) ask(prompt string) {
	c.t.Helper()
	_, err := io.WriteString(c.in, prompt+"\n")
	must(c.t, err)
}

// want waits for a line that contains the text, and returns the lines up to it.
func (c *conversation) want(text string) (seen []string) {
	c.t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case line := <-c.said:
			if seen = append(seen, line); strings.Contains(line, text) {
				return seen
			}
		case <-timeout:
			c.t.Fatalf("%q did not appear after:\n%s", text, strings.Join(seen, "\n"))
		}
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
