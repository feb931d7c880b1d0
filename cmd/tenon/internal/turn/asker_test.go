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

// A question says whose request it is, whatever else is shown of the turn.
func TestAskerSaysWho(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata sdk.Object
		want     string
	}{
		"the model":  {sdk.Object{"template": ""}, "? permission bash (agent build)\n    git log\n"},
		"a plugin":   {sdk.Object{"plugin": "x\x1b"}, "? permission bash (agent build) (requested by plugin x\\u{1b})\n    git log\n"},
		"a guard":    {sdk.Object{"guarded": ".git"}, "? permission bash (agent build)\n  always asks: .git is run by programs or controls agents\n    git log\n"},
		"confined":   {sdk.Object{"sandbox": "NOT confined: x\x1b"}, "? permission bash (agent build)\n    git log\n  NOT confined: x\\u{1b}\n"},
		"sampling":   {sdk.Object{"plugin": "mcp.s", "model": "p/m", "prompt": "user: hi\x1b\nuser: you"}, "? permission bash (agent build) (requested by plugin mcp.s)\n    git log\n  to the model p/m:\n    user: hi\\u{1b}\n    user: you\n"},
		"a template": {sdk.Object{"template": "/do (/p/do.md\u202e)"}, "? permission bash (agent build)\n  in the template of /do (/p/do.md\\u{202e}), not requested by the model:\n    git log\n"},
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
			newAsker(&terminal.Screen{Out: &shown}, terminal.NewKeyboard(in), &replies{}).event(&sdk.Event{Properties: &sdk.PermissionRequest{
				ID: "p1", Permission: "bash", Agent: "build", Patterns: []string{"git log"}, Metadata: c.metadata,
			}})
			if got, _, _ := strings.Cut(shown.String(), "  [o]nce"); got != c.want {
				t.Errorf("the question is\n%s\nwant\n%s", got, c.want)
			}
		})
	}
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
			[]*sdk.Event{question("q1", sdk.Question{Options: options, Multiple: true})}, []typed{{text: "1, 3"}}, []string{"q1 Red+Blue"},
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
			a := newAsker(&terminal.Screen{Out: &bytes.Buffer{}}, terminal.NewKeyboard(in), have)
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
				t.Error("a question still stands")
			}
			if diff := cmp.Diff(c.want, have.list); diff != "" {
				t.Errorf("answers (-want +have):\n%s", diff)
			}
		})
	}
}
