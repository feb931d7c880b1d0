package gemini

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// partialArg is a piece of the arguments of a call. Vertex AI sends pieces to clients that ask for them, see
// https://cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling.
type partialArg struct {
	Path   string          `json:"jsonPath"` // such as $.list[0].name
	String *string         `json:"stringValue"`
	Number json.RawMessage `json:"numberValue"`
	Bool   json.RawMessage `json:"boolValue"`
}

const (
	maxPath  = 64 // steps in the path of a value
	stepSize = 64 // approximate memory in bytes for each byte of a path: a step of two bytes can be a new object
)

var (
	pathStep  = lazyregexp.New(`\.([^.\[\]]+)|\[(\d{1,6})\]|\['([^']*)'\]|\["([^"]*)"\]`)
	wholePath = lazyregexp.New(`^\$(?:` + pathStep().String() + `)+$`)
)

// longText is a string of the arguments, which pieces extend.
type longText []byte

// MarshalJSON returns the string.
func (t *longText) MarshalJSON() ([]byte, error) { return json.Marshal(string(*t)) }

// value returns the value of a piece.
func (p *partialArg) value() any {
	if p.String != nil {
		text := longText(*p.String)
		return &text
	}
	return json.RawMessage(cmp.Or(string(p.Number), string(p.Bool), "null"))
}

// put returns arguments with a piece added; nil means no arguments yet.
func put(args any, p *partialArg) (any, error) {
	steps := pathStep().FindAllStringSubmatch(p.Path, maxPath+1)
	if len(steps) > maxPath || !wholePath().MatchString(p.Path) || steps[0][2] != "" {
		return nil, fmt.Errorf("%w: path %.100q of an argument", wire.ErrMalformed, p.Path)
	}
	args, ok := putAt(args, steps, p.value())
	if !ok {
		return nil, fmt.Errorf("%w: the argument %.100q does not fit those before it", wire.ErrMalformed, p.Path)
	}
	return args, nil
}

// putAt returns at with value set at the path below it. ok is false if the path leads through a value of another kind.
func putAt(at any, steps [][]string, value any) (_ any, ok bool) {
	if len(steps) == 0 {
		text, isText := at.(*longText)
		more, extends := value.(*longText)
		if isText && extends {
			*text = append(*text, *more...)
			return text, true
		}
		return value, at == nil
	}
	if index := steps[0][2]; index != "" {
		list, _ := at.([]any)
		i, err := strconv.Atoi(index)
		if err != nil || i > len(list) || at != nil && list == nil {
			return nil, false
		}
		if i == len(list) {
			list = append(list, nil)
		}
		list[i], ok = putAt(list[i], steps[1:], value)
		return list, ok
	}
	object, _ := at.(map[string]any)
	if at != nil && object == nil {
		return nil, false
	}
	if object == nil {
		object = map[string]any{}
	}
	name := cmp.Or(steps[0][1:]...)
	object[name], ok = putAt(object[name], steps[1:], value)
	return object, ok
}
