package gemini

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// partialArg is a piece of streamed arguments, see https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling.
type partialArg struct {
	Path   string          `json:"jsonPath"` // such as $.list[0].name
	String *string         `json:"stringValue"`
	Number json.RawMessage `json:"numberValue"`
	Bool   *bool           `json:"boolValue"`
}

// maxPath is the maximum number of steps in the path of a value.
const maxPath = 64

// partialArgs turns the pieces of one call's arguments into JSON. They arrive in the order of the JSON: no piece continues a value after
// the next one has begun. The zero value is ready.
type partialArgs struct {
	path   []string          // of the latest value: quoted names of properties and indices of lists
	text   bool              // the latest value is a text, which the next piece can continue
	used   []map[string]bool // the steps so far in each object and list that is open, the outermost first
	values int
}

// add returns the JSON of the next piece.
func (a *partialArgs) add(p *partialArg) (out []byte, err error) {
	path, err := parsePath(p.Path)
	if err != nil {
		return nil, err
	}
	if !a.text || p.String == nil || !slices.Equal(path, a.path) {
		if out, err = a.begin(path); err != nil {
			return nil, err
		}
		if a.text = p.String != nil; a.text {
			out = append(out, '"')
		}
	}
	switch {
	case a.text:
		quoted, err := value.AppendJSON(nil, *p.String)
		if err != nil {
			return nil, err
		}
		return append(out, quoted[1:len(quoted)-1]...), nil
	case wire.Present(p.Number):
		return append(out, p.Number...), nil
	case p.Bool != nil:
		return strconv.AppendBool(out, *p.Bool), nil
	}
	return append(out, "null"...), nil
}

// begin returns the JSON between the latest value and the one at path.
func (a *partialArgs) begin(path []string) ([]byte, error) {
	if a.values++; a.values > wire.MaxItems {
		return nil, fmt.Errorf("%w: more than %d values in the arguments of a call", sdk.ErrAnswerLimit, wire.MaxItems)
	}
	same := 0
	for same < min(len(path), len(a.path)) && path[same] == a.path[same] {
		same++
	}
	wrong := fmt.Errorf("%w: arguments of a call are not in order: %.100q after %.100q", wire.ErrMalformed, path, a.path)
	if same > 0 && same == min(len(path), len(a.path)) {
		return nil, wrong
	}
	out := a.end(same + 1)
	for depth := same; depth < len(path); depth++ {
		step, mark := path[depth], byte(',')
		if depth == len(a.used) {
			a.used = append(a.used, map[string]bool{})
			mark = bracket(step)
		} else if bracket(step) != bracket(a.path[depth]) {
			return nil, wrong
		}
		used, name := a.used[depth], bracket(step) == '{'
		if used[step] || !name && step != strconv.Itoa(len(used)) {
			return nil, wrong
		}
		used[step] = true
		out = append(out, mark)
		if name {
			out = append(append(out, step...), ':')
		}
	}
	a.path = path
	return out, nil
}

// end returns the end of the latest value, and of the open objects and lists beyond the first depth ones.
func (a *partialArgs) end(depth int) (out []byte) {
	if a.text {
		out = append(out, '"')
	}
	a.text = false
	for last := len(a.used) - 1; last >= depth; last-- {
		out = append(out, bracket(a.path[last])+2) // the codes of ] and } are 2 above those of [ and {
		a.used = a.used[:last]
	}
	return out
}

// bracket returns the first byte of the object or list that a step of a path leads into.
func bracket(step string) byte {
	if step[0] == '"' {
		return '{'
	}
	return '['
}

// parsePath reads the subset of JSONPath that names one value in an object. Names are quoted.
func parsePath(path string) (out []string, err error) {
	malformed := fmt.Errorf("%w: path %.100q of an argument", wire.ErrMalformed, path)
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, malformed
	}
	for rest != "" && len(out) < maxPath {
		var name string
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			name, rest = rest[1:end+1], rest[end+1:]
		case strings.HasPrefix(rest, "['") || strings.HasPrefix(rest, `["`):
			if name, rest, ok = strings.Cut(rest[2:], rest[1:2]+"]"); !ok {
				return nil, malformed
			}
		default:
			number, after, found := strings.Cut(strings.TrimPrefix(rest, "["), "]")
			n, err := strconv.Atoi(number)
			if !found || err != nil || n < 0 {
				return nil, malformed
			}
			out, rest = append(out, strconv.Itoa(n)), after
			continue
		}
		quoted, err := value.AppendJSON(nil, name)
		if err != nil {
			return nil, err
		}
		out = append(out, string(quoted))
	}
	if rest != "" || len(out) == 0 || bracket(out[0]) != '{' {
		return nil, malformed
	}
	return out, nil
}
