package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

const (
	titleWords = 8
	titleBytes = 60
	askedBytes = 400 // of one user message in a summary
	askedMost  = 40  // user messages in a summary
)

// title returns the first words of the prompt.
func title(req *sdk.ModelRequest) string {
	last := lastUser(req.Messages, len(req.Messages))
	if last < 0 {
		return "Untitled"
	}
	fields := strings.Fields(userText(&req.Messages[last]))
	text := visible.Cut(strings.Join(fields[:min(len(fields), titleWords)], " "), titleBytes, "…")
	if text == "" {
		return "Untitled"
	}
	return text
}

var (
	// speaker begins a message in a conversation that was written out as text.
	speaker = regexp.MustCompile(`^(user|assistant): ?(.*)`)
	// called is a tool call in such a text.
	called = regexp.MustCompile(`^(?:assistant: )?\[called ([A-Za-z0-9_-]+) `)
	// given is the line of a summary that keeps the place in a script.
	given = regexp.MustCompile(`\(replies given: (\d+)\)`)
)

// summary returns what the user asked for and which tools ran. It reads both forms of a conversation: as
// messages, and written out in the text of one.
func summary(req *sdk.ModelRequest) string {
	var s summed
	for i := range req.Messages {
		m := &req.Messages[i]
		last := i == len(req.Messages)-1
		if m.Role == sdk.RoleUser {
			text := userText(m)
			if before, after, ok := strings.Cut(text, "<conversation>"); ok && before == "" {
				conversation, _, _ := strings.Cut(after, "</conversation>")
				s.readText(conversation)
				continue
			}
			if !last { // the last one asks for the summary
				s.asked = append(s.asked, text)
			}
			continue
		}
		s.readMessage(m)
	}
	return s.String()
}

// summed is what a summary holds.
type summed struct {
	asked   []string
	tools   []string
	replies int
}

func (s *summed) readText(text string) {
	user := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := given.FindStringSubmatch(line); m != nil {
			s.replies, _ = strconv.Atoi(m[1]) // digits; too many of them leave 0
			continue
		}
		if m := called.FindStringSubmatch(line); m != nil {
			s.tools = append(s.tools, m[1])
		}
		m := speaker.FindStringSubmatch(line)
		switch {
		case m == nil && user:
			s.asked[len(s.asked)-1] += "\n" + line
		case m == nil:
		case m[1] == "user":
			user = true
			s.asked = append(s.asked, m[2])
		default:
			user = false
			s.replies++
		}
	}
}

func (s *summed) readMessage(m *sdk.ModelMessage) {
	if m.Role != sdk.RoleAssistant {
		return
	}
	s.replies++
	for i := range m.Content {
		c := &m.Content[i]
		if c.Type == sdk.ContentToolCall {
			s.tools = append(s.tools, c.Tool)
		}
		if match := given.FindStringSubmatch(c.Text); match != nil {
			s.replies, _ = strconv.Atoi(match[1])
		}
	}
}

// String writes the summary.
func (s *summed) String() string {
	var out strings.Builder
	out.WriteString("The user asked for:\n")
	asked := s.asked
	if n := len(asked) - askedMost; n > 0 {
		fmt.Fprintf(&out, "- (%d older messages)\n", n)
		asked = asked[n:]
	}
	for _, text := range asked {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			fmt.Fprintf(&out, "- %s\n", visible.Cut(text, askedBytes, "…"))
		}
	}
	counts := map[string]int{}
	for _, tool := range s.tools {
		counts[tool]++
	}
	var tools []string
	for tool, n := range counts {
		tools = append(tools, fmt.Sprintf("%s (%d)", tool, n))
	}
	slices.Sort(tools)
	if len(tools) == 0 {
		tools = []string{"none"}
	}
	fmt.Fprintf(&out, "Tools used: %s.\n(replies given: %d)", strings.Join(tools, ", "), s.replies)
	return out.String()
}
