package value_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/internal/jsontext"
	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// oddJSON is JSON that could be read in different ways, and text that is not JSON.
var oddJSON = []string{
	`{}`, ` { } `, `null`, `[]`, `{"id":"a"}x`, `{"id":"a"},`, `{"id":"a",}`, `{,}`, `{"id" "a"}`, `{"id":"a"`, `{"id":"`, `{"id":"\`, `{"id":"\u00`,
	`{"id":"a","id":"b"}`, `{"Id":"a"}`, `{"ID":"a","id":"b"}`, `{"i\u0064":"a"}`, `{"\u0069d":"a","id":"b"}`, `{"ſessionID":"a"}`, `{"toKens":{}}`,
	`{"id":null}`, `{"id":1}`, `{"id":true}`, `{"id":["a"]}`, `{"id":"\n\t\r\b\f\/\\\"\u00e9\u2028\u0000"}`, `{"id":"\ud83d\ude00"}`, `{"id":"\ud83d"}`,
	"{\"id\":\"\xff\"}", "{\"\xff\":1}", "{\"id\":\"a\nb\"}", `{"id":"\x"}`, `{"id":"\u12g4"}`, `{"id":"\u+123"}`, "{\"id\":\"12345678\x1f\"}", `{"id":"ü12345678"}`,
	`{"time":{"start":1.0}}`, `{"time":{"start":1e2}}`, `{"time":{"start":-0}}`, `{"time":{"start":01}}`, `{"time":{"start":9223372036854775808}}`, `{"time":{"created":-9223372036854775808}}`,
	`{"time":null}`, `{"time":{}}`, `{"time":[]}`, `{"time":{"x":1}}`, `{"time":{"Start":1}}`, `{"time":{"start":null}}`, `{"cost":null}`, `{"cost":"1"}`, `{"cost":1e-3}`, `{"cost":00}`,
	`{"metadata":null}`, `{"metadata":[]}`, `{"metadata":{"a":{"b":[1,-0,0,-1,1.5,1e400,12345678901234567,123456789012345,0.1234567890123456789,"x",null,true,false,{},[]]}}}`,
	`{"metadata":{"a":1,"a":{"b":2}}}`, `{"metadata":{"a":{"b":1},"a":{"c":2}}}`, `{"metadata":{"\u0061":1}}`, `{"metadata":{"a":-}}`, `{"metadata":{"a":1.}}`, `{"metadata":{"a":tru}}`,
	`{"files":null}`, `{"files":[]}`, `{"files":[null]}`, `{"files":["a",]}`, `{"tools":{"a":true,"b":false,"a":false}}`, `{"tools":{"a":null}}`, `{"tools":null}`, `{"tools":{}}`,
	`{"type":"text","type":"text"}`, `{"type":"text","type":"tool"}`, `{"type":1}`, `{"type":null}`, `{"type":"te\u0078t"}`, `{"Type":"text"}`, `{"x":1,"x":2}`, `{"":1}`, `{"x":{"a" : [ 1 , 2 ]}}`,
	`{"state":null}`, `{"state":{}}`, `{"state":{"status":"completed","status":"error"}}`, `{"state":{"input":1,"status":"pending"}}`, `{"state":{"status":"error","time":{"start":1,"x":2}}}`,
	`{"status":"completed","attachments":[null]}`, `{"status":"completed","attachments":null}`, `{"status":"completed","attachments":[]}`, `{"status":"error","output":"x","input":null}`,
	`{"error":null}`, `{"error":{"name":"a","data":null}}`, `{"error":{"name":"a","data":{"responseHeaders":{"a":"b"},"statusCode":1}}}`, `{"source":null}`, `{"source":{"type":"file","path":"a"}}`,
	`{"permission":[{"permission":"a","pattern":"*","action":"ask","x":1}]}`, `{"permission":"ask"}`, `{"permission":{"a":"ask"}}`, `{"permission":null}`, `{"permission":[{"Permission":"a","pattern":"*","action":"ask"}]}`,
	`{"todos":[{"content":"a"},{"content":"b","x":1}]}`, `{"todos":[null]}`, `{"retryCount":1}`, `{"format":{"type":"t","retryCount":2}}`, strings.Repeat(`{"metadata":`, 300) + strings.Repeat(`}`, 300), `{"x":` + strings.Repeat(`[`, 250) + strings.Repeat(`]`, 250) + `}`,
}

// checkDecoders checks that data is decoded as by encoding/json.
func checkDecoders(t *testing.T, data []byte) (accepted []string) {
	t.Helper()
	accepted, err := value.CompareDecoders(structs(), data)
	if err != nil {
		t.Errorf("decode %q as %v", data, err)
	}
	if p, err := sdk.DecodePart(data); err == nil && p.Type() != jsontext.StringField(data, "type") {
		t.Errorf("%q became a %T", data, p)
	}
	if m, err := sdk.DecodeMessage(data); err == nil && m.Role() != jsontext.StringField(data, "role") {
		t.Errorf("%q became a %T", data, m)
	}
	return accepted
}

func FuzzDecode(f *testing.F) {
	for _, sample := range slices.Concat(wireSamples, oddJSON) {
		f.Add([]byte(sample))
	}
	for seed := range uint64(60) {
		f.Add(randomJSON(f, newGenerator(seed)))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDecoders(t, data) })
}

func TestDecodersAgree(t *testing.T) {
	t.Parallel()
	for _, sample := range slices.Concat(wireSamples, oddJSON) {
		checkDecoders(t, []byte(sample))
	}
	accepted := 0
	for seed := range uint64(400) {
		g := newGenerator(seed)
		data := randomJSON(t, g)
		for range 4 {
			accepted += min(1, len(checkDecoders(t, data)))
			data = g.garble(data)
		}
	}
	if accepted < 400 {
		t.Errorf("%d of 1600 were accepted: there is little to compare", accepted)
	}
}

// randomJSON returns the JSON of a random part, message, session or state.
func randomJSON(t testing.TB, g generator) []byte {
	t.Helper()
	var v any = &sdk.Session{}
	switch g.IntN(8) {
	case 0:
		v = g.value(v)
	case 1, 2:
		v = g.message(0)
	case 3:
		v = g.toolState(0)
	case 4:
		v = g.value(&sdk.ErrorData{})
	default:
		v = g.part(0)
	}
	return []byte(encode(t, v))
}

// tokens are those of JSON, each with the space behind it.
var tokens = regexp.MustCompile(`(?s)("(?:\\.|[^"\\])*"|[-+.\w]+|.)\s*`)

// garble replaces, repeats, moves or drops some of the tokens of data.
func (g generator) garble(data []byte) []byte {
	odd := strings.Fields(`null true false 0 -1 1.5 1e3 12345678901234567890 "" "a" "\n\u00e9" "\ud800" "id" "ID" "type" "status" "completed" "text" "x" {} [] [null] {"x":1} , : { } [ ]`)
	all := tokens.FindAll(data, -1)
	for range 1 + g.IntN(3) {
		i, j := g.IntN(len(all)), g.IntN(len(all))
		switch g.IntN(5) {
		case 0, 1:
			all[i] = []byte(odd[g.IntN(len(odd))])
		case 2:
			all[i] = all[j]
		case 3:
			all[i] = slices.Concat([]byte(" "), all[i], []byte("\n"))
		default:
			all[i] = nil
		}
	}
	return bytes.Join(all, nil)
}

func benchText() *sdk.TextPart {
	return &sdk.TextPart{
		PartHead: sdk.PartHead{ID: "prt_01HZX0", SessionID: "ses_01HZX0", MessageID: "msg_01HZX0"},
		Text:     strings.Repeat("some words of text\n", 20), Time: &sdk.PartTime{Start: 1, End: 2},
	}
}

func benchTool() *sdk.ToolPart {
	return tool("prt_3", sdk.ToolState{
		Status: sdk.ToolCompleted, Input: json.RawMessage(`{"filePath":"go.mod"}`), Output: strings.Repeat("a line of output\n", 60),
		Title: "go.mod", Metadata: sdk.Object{"lines": 40.0}, Time: sdk.ToolTime{Start: 1, End: 2},
	})
}

func benchAssistant() *sdk.AssistantMessage {
	return &sdk.AssistantMessage{
		MessageHead: sdk.MessageHead{ID: "msg_01HZX0", SessionID: "ses_01HZX0"}, ParentID: "msg_0", ModelID: "gpt-large", ProviderID: "openai",
		Mode: "build", Agent: "build", Path: sdk.MessagePath{Cwd: "/src", Root: "/src"}, Cost: 12_345_000_000,
		Tokens: sdk.Tokens{Input: 1200, Output: 80, Cache: sdk.CacheCount{Read: 9000}}, Time: sdk.MessageTime{Created: 1, Completed: 2}, Finish: sdk.FinishStop,
	}
}

func benchSession() *sdk.Session {
	return &sdk.Session{
		ID: "ses_01HZX0", Slug: "brave-fox", ProjectID: "prj", Directory: "/src", Title: "a title", Version: "1", Cost: 12_345_000_000,
		Summary: &sdk.SessionSummary{Additions: 1, Files: 1}, Metadata: sdk.Object{"a": "b"}, Time: sdk.SessionTime{Created: 1, Updated: 2},
	}
}

func BenchmarkDecode(b *testing.B) {
	part := func(data []byte) error { _, err := sdk.DecodePart(data); return err }
	message := func(data []byte) error { _, err := sdk.DecodeMessage(data); return err }
	step := sdk.StepFinishPart{PartHead: benchText().PartHead, Reason: "stop", Cost: benchAssistant().Cost, Tokens: benchAssistant().Tokens}
	cases := []struct {
		name   string
		v      any
		decode func([]byte) error
	}{
		{"text", benchText(), part},
		{"tool", benchTool(), part},
		{"step-start", &sdk.StepStartPart{PartHead: benchText().PartHead}, part},
		{"step-finish", &step, part},
		{"assistant", benchAssistant(), message},
		{"user", &sdk.UserMessage{MessageHead: benchAssistant().MessageHead, Agent: "build"}, message},
		{"session", benchSession(), func(data []byte) error { return new(sdk.Session).UnmarshalJSON(data) }},
	}
	for _, c := range cases {
		data := []byte(encode(b, c.v))
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := c.decode(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
