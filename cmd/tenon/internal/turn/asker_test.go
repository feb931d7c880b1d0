package turn

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

// replies records the answers that reach the host.
type replies struct{ list []string }

func (r *replies) AllowInSession(id string) error {
	r.list = append(r.list, id+" session")
	return nil
}

func (r *replies) ReplyPermission(id string, reply sdk.Reply, message string) error {
	r.list = append(r.list, strings.TrimSpace(id+" "+string(reply)+" "+message))
	return nil
}

func (r *replies) ReplyQuestion(id string, answers [][]string) error {
	if answers == nil {
		r.list = append(r.list, id+" dismissed")
		return nil
	}
	var all []string
	for _, a := range answers {
		all = append(all, strings.Join(a, "+"))
	}
	r.list = append(r.list, id+" "+strings.Join(all, " | "))
	return nil
}

// TestAskerShows checks that a question names the tool and its target in one sentence, says whose request it is, and shows the whole command
// or diff.
func TestAskerShows(t *testing.T) {
	t.Parallel()
	bash := func(metadata sdk.Object) sdk.PermissionRequest {
		metadata["command"] = "git log | cat"
		return sdk.PermissionRequest{Permission: "bash", Agent: "build", Patterns: []string{"git log"}, Always: []string{"git *"}, Metadata: metadata, Args: []byte(`{"command": "git log | cat"}`)}
	}
	const (
		command = "    git log | cat\n"
		options = "  [y] yes  [s] this session  [a] always in this project: bash git *  [n] no  [m] no, and say why: "
		once    = "  [y] yes  [n] no  [m] no, and say why: "
	)
	for name, c := range map[string]struct {
		request sdk.PermissionRequest
		want    string
	}{
		"a command": {bash(sdk.Object{"template": ""}), "? Allow bash to run this command?\n" + command + options},
		"another agent": {
			sdk.PermissionRequest{Permission: "bash", Agent: "plan", Patterns: []string{"a\x1b", "b"}},
			"? Allow bash to run this command?\n  requested by the agent plan\n    a\\u{1b}\n    b\n" + once,
		},
		"a plugin": {bash(sdk.Object{"plugin": "x\x1b"}), "? Allow bash to run this command?\n  requested by the plugin x\\u{1b}\n" + command + options},
		"a gate":   {bash(sdk.Object{"asks": "p: why\x1b"}), "? Allow bash to run this command?\n  approval required by the plugin p: why\\u{1b}\n" + command + options},
		"a guard":  {bash(sdk.Object{"guarded": ".git"}), "? Allow bash to run this command?\n  always asks: .git can run programs or control agents\n" + command + options},
		"confined": {bash(sdk.Object{"sandbox": "NOT confined: x\x1b"}), "? Allow bash to run this command?\n  NOT confined: x\\u{1b}\n" + command + options},
		"covering": {
			bash(sdk.Object{"covers": sdk.Object{"edit": []string{"a\x1b", "b"}, "external_directory": []string{"/etc/*"}, "bash": []string{"git log"}}}),
			"? Allow bash to run this command?\n  it uses /etc/*, outside the project\n  it changes a\\u{1b}, b\n" + command + options,
		},
		"a template": {bash(sdk.Object{"template": "/do (/p/do.md\u202e)"}), "? Allow bash to run this command?\n  requested by /do (/p/do.md\\u{202e}), not by the model\n" + command + options},
		"sampling": {
			sdk.PermissionRequest{Permission: "sampling", Patterns: []string{"mcp.s"}, Metadata: sdk.Object{"plugin": "mcp.s", "model": "p/m", "prompt": "user: hi\x1b\nuser: you"}},
			"? Allow the plugin mcp.s to ask p/m?\n  requested by the plugin mcp.s\n    user: hi\\u{1b}\n    user: you\n" + once,
		},
		"an edit": {
			sdk.PermissionRequest{Permission: "edit", Patterns: []string{"a.go"}, Metadata: sdk.Object{"tool": "write", "diff": "--- a.go\n+++ a.go\n@@ -1 +1 @@\n-x\n+\ty\n"}},
			"? Allow write to change a.go?\n    --- a.go\n    +++ a.go\n    @@ -1 +1 @@\n    -x\n    +   y\n" + once,
		},
		"a file outside": {
			sdk.PermissionRequest{Permission: "external_directory", Patterns: []string{"/etc/*"}, Metadata: sdk.Object{"tool": "read", "filepath": "/etc/passwd"}},
			"? Allow read to use /etc/passwd, outside the project?\n" + once,
		},
		"a server": {
			sdk.PermissionRequest{Permission: "s_echo", Patterns: []string{"*"}, Metadata: sdk.Object{"tool": "s_echo", "server": "s"}, Args: []byte(`{"text": "hi\u202e"}`)},
			"? Allow s_echo of the MCP server s to run?\n    text: hi\\u{202e}\n" + once,
		},
		"a loop": {
			sdk.PermissionRequest{Permission: "doom_loop", Patterns: []string{"grep"}, Metadata: sdk.Object{"tool": "grep"}},
			"? The model repeats the same calls of grep. Allow it to continue?\n" + once,
		},
		"a long command": {
			sdk.PermissionRequest{Permission: "bash", Patterns: []string{"x"}, Metadata: sdk.Object{"command": strings.Repeat("a\n", 65)}},
			"? Allow bash to run this command?\n" + strings.Repeat("    a\n", 65) + "? Allow bash to run this command? The text above is long: scroll up to read all of it.\n" + once,
		},
		"a wide command": {
			sdk.PermissionRequest{Permission: "unconfined", Patterns: []string{"x"}, Metadata: sdk.Object{"tool": "bash", "command": strings.Repeat(" ", 1000) + "x"}},
			"? Allow bash to run this command outside the sandbox?\n    " + strings.Repeat(" ", 1000) + "x\n? Allow bash to run this command outside the sandbox? The text above is long: scroll up to read all of it.\n" + once,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shown bytes.Buffer
			in, typing, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			defer typing.Close()
			(&asker{s: &terminal.Screen{Out: &shown}, keys: terminal.NewKeyboard(in), host: &replies{}, directory: "/p"}).event(&sdk.Event{Properties: &c.request})
			if diff := cmp.Diff(c.want, shown.String()); diff != "" {
				t.Errorf("-want +have:\n%s", diff)
			}
		})
	}
}

// typed is a line from the user. eof means the end of input.
type typed struct {
	text string
	eof  bool
}

func TestAsker(t *testing.T) {
	t.Parallel()
	no := false
	permission := func(id string, always ...string) *sdk.Event {
		return &sdk.Event{Properties: &sdk.PermissionRequest{ID: id, Permission: "bash", Patterns: []string{"ls"}, Always: always}}
	}
	question := func(id string, q ...sdk.Question) *sdk.Event {
		return &sdk.Event{Properties: &sdk.QuestionRequest{ID: id, Questions: q}}
	}
	options := []sdk.QuestionOption{{Label: "Red"}, {Label: "Green"}, {Label: "Blue"}}
	for name, c := range map[string]struct {
		events []*sdk.Event
		lines  []typed
		want   []string
	}{
		"once":                {[]*sdk.Event{permission("p1")}, []typed{{text: "o"}}, []string{"p1 once"}},
		"always":              {[]*sdk.Event{permission("p1", "ls *")}, []typed{{text: "ALWAYS"}}, []string{"p1 always"}},
		"in the session":      {[]*sdk.Event{permission("p1", "ls *")}, []typed{{text: "s"}}, []string{"p1 session"}},
		"session not offered": {[]*sdk.Event{permission("p1")}, []typed{{text: "s"}, {text: "n"}}, []string{"p1 reject"}},
		"always not offered":  {[]*sdk.Event{permission("p1")}, []typed{{text: "a"}, {text: "r"}}, []string{"p1 reject"}},
		"reject with message": {[]*sdk.Event{permission("p1")}, []typed{{text: "m"}, {text: "use git"}}, []string{"p1 reject use git"}},
		"no message after all": {
			[]*sdk.Event{permission("p1")}, []typed{{text: "m"}, {text: ""}, {text: "y"}}, []string{"p1 once"},
		},
		"nonsense asks again": {[]*sdk.Event{permission("p1")}, []typed{{text: ""}, {text: "hm"}, {text: "n"}}, []string{"p1 reject"}},
		"end of input refuses all that waits": {
			[]*sdk.Event{permission("p1"), permission("p2"), question("q1", sdk.Question{Question: "?"})},
			[]typed{{eof: true}}, []string{"p1 reject", "p2 reject", "q1 dismissed"},
		},
		"one after another": {
			[]*sdk.Event{permission("p1"), permission("p2")}, []typed{{text: "o"}, {text: "r"}}, []string{"p1 once", "p2 reject"},
		},
		"answered otherwise": {
			[]*sdk.Event{permission("p1"), permission("p2"), {Properties: &sdk.PermissionReplied{RequestID: "p1"}}},
			[]typed{{text: "o"}}, []string{"p2 once"},
		},
		"a number": {[]*sdk.Event{question("q1", sdk.Question{Options: options})}, []typed{{text: "2"}}, []string{"q1 Green"}},
		"several numbers": {
			[]*sdk.Event{question("q1", sdk.Question{Options: options, Multiple: true})}, []typed{{text: "1, 3, 1"}}, []string{"q1 Red+Blue"},
		},
		"several where one is wanted": {
			[]*sdk.Event{question("q1", sdk.Question{Options: options, Custom: &no})}, []typed{{text: "1,3"}, {text: "3"}}, []string{"q1 Blue"},
		},
		"own words": {[]*sdk.Event{question("q1", sdk.Question{Options: options})}, []typed{{text: "4 shades of grey"}}, []string{"q1 4 shades of grey"}},
		"own words not allowed": {
			[]*sdk.Event{question("q1", sdk.Question{Options: options, Custom: &no})}, []typed{{text: "mauve"}, {text: "4"}, {text: ""}}, []string{"q1 dismissed"},
		},
		"left empty": {
			[]*sdk.Event{question("q1", sdk.Question{Optional: true}, sdk.Question{Default: []string{"7"}}, sdk.Question{})},
			[]typed{{text: ""}, {text: ""}, {text: "because"}}, []string{"q1  |  | because"},
		},
		"a form is ended": {
			[]*sdk.Event{question("q1", sdk.Question{Optional: true}, sdk.Question{Optional: true})}, []typed{{text: ""}, {text: "/cancel"}}, []string{"q1 dismissed"},
		},
		"a form is declined": {
			[]*sdk.Event{question("q1", sdk.Question{Form: &sdk.FormField{}}, sdk.Question{Form: &sdk.FormField{}})}, []typed{{text: "x"}, {text: "/decline"}}, []string{"q1 "},
		},
		"only a form is declined": {[]*sdk.Event{question("q1", sdk.Question{})}, []typed{{text: "/decline"}}, []string{"q1 /decline"}},
		"two questions": {
			[]*sdk.Event{question("q1", sdk.Question{Options: options}, sdk.Question{})}, []typed{{text: "1"}, {text: "because"}}, []string{"q1 Red | because"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, typing, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			defer typing.Close()
			have := &replies{}
			a := &asker{s: &terminal.Screen{Out: &bytes.Buffer{}}, keys: terminal.NewKeyboard(in), host: have, directory: "/p"}
			for _, e := range c.events {
				a.event(e)
			}
			for _, line := range c.lines {
				if !a.asking() {
					t.Fatalf("nothing is asked any more before %q", line.text)
				}
				if line.eof {
					typing.Close()
				} else if _, err := typing.WriteString(line.text + "\n"); err != nil {
					t.Fatal(err)
				}
				a.input(<-a.keys.Pieces)
			}
			if a.asking() {
				t.Error("a question is still open")
			}
			if diff := cmp.Diff(c.want, have.list); diff != "" {
				t.Errorf("answers (-want +have):\n%s", diff)
			}
		})
	}
}

// TestAskerWithoutQuestion: stdin may end after a question was answered elsewhere. Later questions are then refused.
func TestAskerWithoutQuestion(t *testing.T) {
	t.Parallel()
	in, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	have := &replies{}
	a := &asker{s: &terminal.Screen{Out: &bytes.Buffer{}}, keys: terminal.NewKeyboard(in), host: have}
	a.event(&sdk.Event{Properties: &sdk.PermissionRequest{ID: "p1"}})
	a.event(&sdk.Event{Properties: &sdk.PermissionReplied{RequestID: "p1"}})
	_ = typing.Close()
	a.input(<-a.keys.Pieces)
	a.event(&sdk.Event{Properties: &sdk.PermissionRequest{ID: "p2"}})
	if diff := cmp.Diff([]string{"p2 reject"}, have.list); diff != "" {
		t.Errorf("answers (-want +have):\n%s", diff)
	}
}
