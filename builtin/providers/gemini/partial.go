package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

const (
	// maxPath is the maximum number of steps in the path of a value.
	maxPath = 64
	// maxPiece is about the maximum size in bytes of a piece of arguments that is passed on. Some hundred of them wait in queues.
	maxPiece = 4 << 10
	// longText is the size in bytes from which a text gets room for the longest arguments. Only the pages that are written take memory.
	longText = 1 << 20
)

// partialArgs joins the pieces of one call's arguments. The zero value is ready.
type partialArgs struct {
	leaves []*leaf
	byPath map[string]*leaf
	size   int // of all pieces in bytes
}

// leaf is one value.
type leaf struct {
	path []any // string: name of a property; int: index of a list
	text strings.Builder
	raw  any // nil: text
}

func (a *partialArgs) add(pieces []partialArg) error {
	for i := range pieces {
		p := &pieces[i]
		l := a.byPath[p.Path]
		if l == nil {
			path, err := parsePath(p.Path)
			if err != nil {
				return err
			}
			if len(a.leaves) == wire.MaxItems {
				return fmt.Errorf("%w: more than %d values in the arguments of a call", sdk.ErrAnswerLimit, wire.MaxItems)
			}
			l = &leaf{path: path}
			if a.byPath == nil {
				a.byPath = map[string]*leaf{}
			}
			a.byPath[p.Path] = l
			a.leaves = append(a.leaves, l)
			a.size += len(p.Path)
		}
		switch {
		case p.String != nil:
			if l.text.Len() > longText && l.text.Cap()-l.text.Len() < len(*p.String) {
				l.text.Grow(sdk.MaxModelAnswerBytes)
			}
			l.text.WriteString(*p.String)
			a.size += len(*p.String)
		case wire.Present(p.Number):
			l.raw = p.Number
			a.size += len(p.Number)
		case p.Bool != nil:
			l.raw = *p.Bool
		default:
			l.raw = json.RawMessage("null")
		}
		if a.size > sdk.MaxModelAnswerBytes {
			return fmt.Errorf("%w: arguments of more than %d MiB", sdk.ErrAnswerLimit, sdk.MaxModelAnswerBytes>>20)
		}
	}
	return nil
}

// take passes on the arguments as JSON in pieces, if there are any, and forgets them.
func (a *partialArgs) take(pass func(string) error) error {
	if len(a.leaves) == 0 {
		return nil
	}
	var root any = map[string]any{}
	for _, l := range a.leaves {
		v := l.raw
		if v == nil {
			v = l.text.String()
		}
		var err error
		if root, err = place(root, l.path, v); err != nil {
			return err
		}
	}
	*a = partialArgs{}
	w := pieceWriter{pass: pass}
	w.value(root)
	w.flush(0)
	return w.err
}

// pieceWriter passes on JSON in pieces: long arguments are not in memory a second time.
type pieceWriter struct {
	out  []byte
	pass func(string) error
	err  error
}

// flush passes on what was written if it has more than so many bytes.
func (w *pieceWriter) flush(more int) {
	if len(w.out) > more {
		if w.err == nil {
			w.err = w.pass(string(w.out))
		}
		w.out = w.out[:0]
	}
}

// value writes a tree of place, up to an error.
func (w *pieceWriter) value(v any) {
	if w.err != nil {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		mark := byte('{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.out = append(w.out, mark)
			w.json(name)
			w.out = append(w.out, ':')
			w.value(v[name])
			mark = ','
		}
		w.out = append(w.out, '}')
	case []any:
		mark := byte('[')
		for _, element := range v {
			w.out = append(w.out, mark)
			w.value(element)
			mark = ','
		}
		w.out = append(w.out, ']')
	case string:
		w.text(v)
	default:
		w.json(v)
	}
	w.flush(maxPiece)
}

func (w *pieceWriter) json(v any) {
	data, err := value.AppendJSON(nil, v)
	w.out, w.err = append(w.out, data...), errors.Join(w.err, err)
}

func (w *pieceWriter) text(s string) {
	w.out = append(w.out, '"')
	for s != "" && w.err == nil {
		n := min(len(s), maxPiece)
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n--
		}
		start := len(w.out)
		w.json(s[:n])
		w.out = slices.Delete(w.out, start, start+1) // the quotes
		w.out = w.out[:len(w.out)-1]
		w.flush(maxPiece)
		s = s[n:]
	}
	w.out = append(w.out, '"')
}

// place returns the tree with the value at the path.
func place(tree any, path []any, value any) (any, error) {
	if len(path) == 0 {
		return value, nil
	}
	var err error
	switch step := path[0].(type) {
	case string:
		object, ok := tree.(map[string]any)
		if !ok && tree != nil {
			return nil, fmt.Errorf("%w: arguments of a call have two values at one path", wire.ErrMalformed)
		}
		if object == nil {
			object = map[string]any{}
		}
		object[step], err = place(object[step], path[1:], value)
		return object, err
	default:
		index := step.(int)
		list, ok := tree.([]any)
		if !ok && tree != nil || index > len(list) {
			return nil, fmt.Errorf("%w: arguments of a call have a list with a gap", wire.ErrMalformed)
		}
		if index == len(list) {
			list = append(list, nil)
		}
		list[index], err = place(list[index], path[1:], value)
		return list, err
	}
}

// parsePath reads the subset of JSONPath that names one value.
func parsePath(path string) (out []any, err error) {
	malformed := fmt.Errorf("%w: path %.100q of an argument", wire.ErrMalformed, path)
	rest, ok := strings.CutPrefix(path, "$")
	if !ok {
		return nil, malformed
	}
	for rest != "" && len(out) < maxPath {
		switch {
		case rest[0] == '.':
			end := strings.IndexAny(rest[1:], ".[")
			if end < 0 {
				end = len(rest) - 1
			}
			out = append(out, rest[1:end+1])
			rest = rest[end+1:]
		case strings.HasPrefix(rest, "['") || strings.HasPrefix(rest, `["`):
			name, after, found := strings.Cut(rest[2:], rest[1:2]+"]")
			if !found {
				return nil, malformed
			}
			out, rest = append(out, name), after
		default:
			number, after, found := strings.Cut(strings.TrimPrefix(rest, "["), "]")
			n, err := strconv.Atoi(number)
			if !found || err != nil || n < 0 {
				return nil, malformed
			}
			out, rest = append(out, n), after
		}
	}
	if rest != "" {
		return nil, malformed
	}
	return out, nil
}
