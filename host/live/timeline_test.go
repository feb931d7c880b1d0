package live

import (
	"strings"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// talk builds a conversation from names: u… is a prompt, a… an answer, Q a compaction's question (with
// its tail behind a colon), S its summary, F one that failed, O one that is not finished.
func talk(names ...string) []sdk.MessageWithParts {
	var out []sdk.MessageWithParts
	question, prompt := "", ""
	for _, name := range names {
		head := sdk.MessageHead{ID: name}
		switch name[0] {
		case 'u':
			prompt = name
			out = append(out, sdk.MessageWithParts{Info: &sdk.UserMessage{MessageHead: head}})
		case 'Q':
			id, tail, _ := strings.Cut(name, ":")
			head.ID, question = id, id
			out = append(out, sdk.MessageWithParts{Info: &sdk.UserMessage{MessageHead: head}, Parts: sdk.Parts{&sdk.CompactionPart{TailStartID: tail}}})
		default:
			a := &sdk.AssistantMessage{MessageHead: head, ParentID: prompt, Time: sdk.MessageTime{Completed: 1}}
			switch name[0] {
			case 'S':
				a.Summary, a.ParentID = true, question
			case 'F':
				a.Summary, a.ParentID, a.Error = true, question, &sdk.NamedError{Name: sdk.ErrorAPI}
			case 'O':
				a.Summary, a.ParentID, a.Time.Completed = true, question, 0
			}
			out = append(out, sdk.MessageWithParts{Info: a})
		}
	}
	return out
}

func TestActiveMessages(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		in, want string
		reaches  bool // the messages go back far enough
	}{
		"no summary":                     {"u1 a1 u2", "u1 a1 u2", false},
		"all is covered":                 {"u1 a1 Q S", "Q S", true},
		"what came since":                {"u1 a1 Q S u2 a2", "Q S u2 a2", true},
		"a verbatim tail":                {"u1 a1 u2 a2 Q:u2 S u3", "Q S u2 a2 u3", true},
		"a tail within a turn":           {"u1 a1 u2 a2 a3 a4 Q:a3 S u3", "Q S u2 a3 a4 u3", true},
		"its prompt is not loaded":       {"a2 a3 Q:a3 S u3", "Q S u3", false},
		"a tail that is not loaded":      {"a2 Q:u2 S u3", "Q S u3", false},
		"the latest summary counts":      {"u1 a1 Q1 S1 u2 a2 Q2 S2 u3", "Q2 S2 u3", true},
		"a tail over an earlier summary": {"u1 a1 u2 Q1:u2 S1 a2 u3 Q2:u2 S2", "Q2 S2 u2 a2 u3", true},
		"a failed summary":               {"u1 a1 Q F u2", "u1 a1 u2", false},
		"failed after one that holds":    {"u1 a1 Q1 S1 u2 Q2 F2 u3", "Q1 S1 u2 u3", true},
		"a summary under way":            {"u1 a1 Q O", "u1 a1", false},
		"the question is not loaded":     {"S u2", "u2", false},
		"nothing":                        {"", "", false},
	}
	for name, c := range cases {
		in := talk(strings.Fields(c.in)...)
		var got []string
		for _, m := range Active(in) {
			got = append(got, m.Info.Head().ID)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: Active(%s) = %s, want %s", name, c.in, s, c.want)
		}
		if r := reachesSummary(in); r != c.reaches {
			t.Errorf("%s: reachesSummary(%s) = %v, want %v", name, c.in, r, c.reaches)
		}
	}
}
