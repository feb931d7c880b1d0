package value_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"

	"github.com/tenonhq/tenon/sdk"
)

// generator makes random values of the types of the contract: valid ones, so that they have a JSON.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, 1))} }

// value returns a pointer to a random value of the type that sample points at.
func (g generator) value(sample any) any {
	v := reflect.New(reflect.TypeOf(sample).Elem())
	g.fill(v.Elem(), 0)
	return v.Interface()
}

var (
	typeOfRaw     = reflect.TypeFor[json.RawMessage]()
	typeOfAny     = reflect.TypeFor[any]()
	typeOfPart    = reflect.TypeFor[sdk.Part]()
	typeOfMessage = reflect.TypeFor[sdk.Message]()
	typeOfExtra   = reflect.TypeFor[sdk.Extra]()
	typeOfState   = reflect.TypeFor[sdk.ToolState]()
)

func (g generator) fill(v reflect.Value, depth int) {
	switch v.Type() {
	case typeOfRaw:
		raw, _ := json.Marshal(g.json(depth + 2))
		v.SetBytes(raw)
		return
	case typeOfAny:
		if j := g.json(depth + 1); j != nil {
			v.Set(reflect.ValueOf(j))
		}
		return
	case typeOfPart:
		v.Set(reflect.ValueOf(g.part(depth)))
		return
	case typeOfMessage:
		v.Set(reflect.ValueOf(g.message(depth)))
		return
	case typeOfExtra:
		v.Set(reflect.ValueOf(g.extra()))
		return
	case typeOfState:
		v.Set(reflect.ValueOf(g.toolState(depth)))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(g.text())
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(g.IntN(5)) * int64(1+g.IntN(1000)))
	case reflect.Float64:
		v.SetFloat(float64(g.IntN(40)) / 8)
	case reflect.Pointer:
		// A message or a part is never missing, other things may be.
		if _, head := v.Interface().(interface{ Head() *sdk.MessageHead }); !head && depth > 0 && g.IntN(3) == 0 || depth > 6 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		g.fill(v.Elem(), depth+1)
	case reflect.Slice:
		g.fillSlice(v, depth)
	case reflect.Map:
		g.fillMap(v, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			g.fill(v.Field(i), depth+1)
		}
	default:
		panic(fmt.Sprintf("no random %s", v.Type()))
	}
}

func (g generator) fillSlice(v reflect.Value, depth int) {
	if g.IntN(4) == 0 || depth > 8 {
		return
	}
	n := g.IntN(4)
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		elem := v.Index(i)
		if elem.Kind() == reflect.Pointer {
			elem.Set(reflect.New(elem.Type().Elem()))
			g.fill(elem.Elem(), depth+1)
			continue
		}
		g.fill(elem, depth+1)
	}
}

func (g generator) fillMap(v reflect.Value, depth int) {
	if g.IntN(4) == 0 || depth > 8 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range g.IntN(4) {
		elem := reflect.New(v.Type().Elem()).Elem()
		g.fill(elem, depth+1)
		v.SetMapIndex(reflect.ValueOf(g.key()), elem)
	}
}

func (g generator) text() string {
	words := []string{"", "a", "b", "read", "<b>&", "ünïcode \u2028", "line\nbreak", "\"quoted\\", "x/y~z"}
	return words[g.IntN(len(words))]
}

func (g generator) key() string {
	keys := []string{"a", "b", "c", "a/b", "m~n", "", "0", "*", "ü", "x y", "text", "id", "type"}
	return keys[g.IntN(len(keys))]
}

// json returns random JSON as a plugin may put it into an Object: decoded, or Go values with that JSON.
func (g generator) json(depth int) any {
	n := 12
	if depth > 5 {
		n = 7
	}
	switch g.IntN(n) {
	case 0:
		return nil
	case 1:
		return g.IntN(2) == 0
	case 2:
		return float64(g.IntN(100)) / 4
	case 3:
		return json.Number("12345678901234567890")
	case 4:
		return g.IntN(5)
	case 5, 6:
		return g.text()
	case 7, 8:
		list := make([]any, g.IntN(4))
		for i := range list {
			list[i] = g.json(depth + 1)
		}
		return list
	case 9:
		return []string{g.text(), g.text()}
	}
	m := map[string]any{}
	for range g.IntN(4) {
		m[g.key()] = g.json(depth + 1)
	}
	return m
}

func (g generator) extra() sdk.Extra {
	if g.IntN(2) == 0 {
		return nil
	}
	extra := sdk.Extra{}
	for range 1 + g.IntN(3) {
		raw, _ := json.Marshal(g.json(3))
		extra["x-"+g.key()] = raw
	}
	return extra
}

func (g generator) part(depth int) sdk.Part {
	parts := []sdk.Part{
		&sdk.TextPart{}, &sdk.ReasoningPart{}, &sdk.FilePart{}, &sdk.AgentPart{}, &sdk.ToolPart{}, &sdk.ToolPart{},
		&sdk.StepStartPart{}, &sdk.StepFinishPart{}, &sdk.SnapshotPart{}, &sdk.PatchPart{}, &sdk.SubtaskPart{},
		&sdk.CompactionPart{}, &sdk.RetryPart{}, &sdk.TextPart{},
	}
	i := g.IntN(len(parts) + 1)
	if i == len(parts) {
		raw := fmt.Sprintf(`{"type":"future","id":"p%d","sessionID":"s","messageID":"m","what":{"n":%d}}`, g.IntN(3), g.IntN(3))
		p, err := sdk.DecodePart([]byte(raw))
		if err != nil {
			panic(err)
		}
		return p
	}
	p := parts[i]
	g.fill(reflect.ValueOf(p).Elem(), depth+1)
	p.Head().ID = fmt.Sprintf("prt_%d", g.IntN(3))
	return p
}

func (g generator) message(depth int) sdk.Message {
	var m sdk.Message
	switch g.IntN(5) {
	case 0:
		raw := fmt.Sprintf(`{"role":"narrator","id":"m%d","sessionID":"s","what":[%d]}`, g.IntN(3), g.IntN(3))
		m, err := sdk.DecodeMessage([]byte(raw))
		if err != nil {
			panic(err)
		}
		return m
	case 1, 2:
		m = &sdk.UserMessage{}
	default:
		m = &sdk.AssistantMessage{}
	}
	g.fill(reflect.ValueOf(m).Elem(), depth+1)
	m.Head().ID = fmt.Sprintf("msg_%d", g.IntN(3))
	return m
}

func (g generator) toolState(depth int) sdk.ToolState {
	statuses := []sdk.ToolStatus{sdk.ToolPending, sdk.ToolRunning, sdk.ToolCompleted, sdk.ToolError}
	s := sdk.ToolState{Status: statuses[g.IntN(len(statuses))]}
	v := reflect.ValueOf(&s).Elem()
	for i := 1; i < v.NumField(); i++ {
		g.fill(v.Field(i), depth+1)
	}
	return s
}

// mutate changes about one in n of the members below v.
func (g generator) mutate(v reflect.Value, n int) {
	if v.Type() == typeOfState && g.IntN(2) == 0 {
		s := v.Addr().Interface().(*sdk.ToolState)
		g.mutate(reflect.ValueOf(&s.Output).Elem(), 2)
		g.mutate(reflect.ValueOf(&s.Metadata).Elem(), 2)
		return
	}
	switch v.Type() {
	case reflect.TypeFor[sdk.UnknownPart](), reflect.TypeFor[sdk.UnknownMessage]():
		return // what they hold is theirs
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			g.mutate(v.Elem(), n)
		}
		return
	case reflect.Interface:
		if v.Type() != typeOfAny && g.IntN(n) != 0 {
			g.mutate(v.Elem(), n)
			return
		}
	case reflect.Struct:
		if v.Type() != typeOfState {
			for i := range v.NumField() {
				g.mutate(v.Field(i), n)
			}
			return
		}
	case reflect.Slice:
		if v.Type() != typeOfRaw && g.IntN(n) != 0 {
			g.mutateSlice(v, n)
			return
		}
	case reflect.Map:
		if g.IntN(n) != 0 && v.Len() > 0 {
			g.mutateMap(v, n)
			return
		}
	}
	if g.IntN(n) == 0 {
		g.fill(v, 4)
	}
}

func (g generator) mutateSlice(v reflect.Value, n int) {
	for i := range v.Len() {
		g.mutate(v.Index(i), n)
	}
	switch g.IntN(2 * n) {
	case 0:
		elem := reflect.New(v.Type().Elem()).Elem()
		if elem.Kind() == reflect.Pointer {
			elem.Set(reflect.New(elem.Type().Elem()))
			g.fill(elem.Elem(), 4)
		} else {
			g.fill(elem, 4)
		}
		v.Set(reflect.Append(v, elem))
	case 1:
		if v.Len() > 0 {
			v.Set(v.Slice(0, v.Len()-1))
		}
	}
}

func (g generator) mutateMap(v reflect.Value, n int) {
	for _, k := range v.MapKeys() {
		switch g.IntN(n) {
		case 0:
			v.SetMapIndex(k, reflect.Value{})
		case 1:
			elem := reflect.New(v.Type().Elem()).Elem()
			if v.Type() == typeOfExtra {
				elem.SetBytes([]byte(`{"m":1}`))
			} else {
				g.fill(elem, 5)
			}
			v.SetMapIndex(k, elem)
		}
	}
}
