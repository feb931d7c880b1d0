package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tenonhq/tenon/builtin/providers/gemini"
	"github.com/tenonhq/tenon/builtin/providers/internal/wire"
	"github.com/tenonhq/tenon/builtin/providers/internal/wiretest"
	"github.com/tenonhq/tenon/sdk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func event(data string) string { return "data: " + data + "\r\n\r\n" }

func parts(parts string) string {
	return event(`{"candidates":[{"content":{"role":"model","parts":[` + parts + `]},"index":0}],"usageMetadata":{"trafficType":"ON_DEMAND"}}`)
}

const end = `{"candidates":[{"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2}}`

func decode(t *testing.T, answer string) ([]sdk.StreamEvent, error) {
	t.Helper()
	events, err := wiretest.Decode(t.Context(), gemini.Open, wiretest.Info(), wiretest.Hello(), []byte(answer))
	wiretest.CheckRules(t, events, err)
	return events, err
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(parts(`{"text":"a","thought":true},{"text":"b","thoughtSignature":"s"}`) + event(end)))
	f.Add([]byte(parts(`{"functionCall":{"name":"a","willContinue":true}}`) + parts(`{"functionCall":{"partialArgs":[{"jsonPath":"$.a[0]['b']","stringValue":"x"},{"jsonPath":"$.n","numberValue":1}]}}`) + event(end)))
	f.Add([]byte(`[` + end + `]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		events, err := wiretest.Decode(t.Context(), gemini.Open, wiretest.Info(), wiretest.Hello(), data)
		wiretest.CheckRules(t, events, err)
	})
}

// FuzzSchema: every schema of a tool becomes one that can be encoded, or an error.
func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":["string","null"]}}}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#"}}}`)
	f.Add(`{"properties":{"a":{"items":{"const":1},"default":{"required":[{}]},"allOf":[{"$ref":"#/properties/a/default"},{"default":{"required":[{}]}}]}}}`)
	f.Add(`{"properties":{"a":{"anyOf":[{"type":"null"},{"allOf":[{"required":["x"],"properties":{"x":{}}},{"required":["x"]}]}]}}}`)
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		out, err := gemini.Schema(schema)
		var root map[string]any
		if err == nil {
			err = json.Unmarshal([]byte(out), &root)
			checkSchema(t, root)
		}
		if err != nil && json.Unmarshal([]byte(schema), &root) == nil {
			t.Errorf("%q became %.1000q: %v", schema, out, err)
		}
	})
}

// checkSchema reports keywords that the server does not know.
func checkSchema(t *testing.T, schema map[string]any) {
	for name, v := range schema {
		switch name {
		case "items":
			checkSchema(t, v.(map[string]any))
		case "properties":
			for _, part := range v.(map[string]any) {
				checkSchema(t, part.(map[string]any))
			}
		case "anyOf":
			for _, part := range v.([]any) {
				checkSchema(t, part.(map[string]any))
			}
		case "type", "enum", "required", "description", "format", "nullable", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern",
			"default", "title", "minProperties", "maxProperties", "propertyOrdering":
		default:
			t.Errorf("unknown keyword %q", name)
		}
	}
}

// TestSchemaReferences: the time grows with the schema, not with its square: it is converted for each request.
func TestSchemaReferences(t *testing.T) {
	const n = 2000
	properties, definitions := map[string]any{}, map[string]any{}
	for i := range n {
		name := fmt.Sprint("name", i)
		properties[name] = map[string]any{"$ref": "#/$defs/" + name}
		definitions[name] = map[string]any{"type": "string", "description": strings.Repeat("x", 100)}
	}
	schema, err := json.Marshal(map[string]any{"properties": properties, "$defs": definitions})
	if err != nil {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(1, func() { _, err = gemini.Schema(string(schema)) })
	if err != nil || allocated > 100*n {
		t.Errorf("%v allocations, %v", allocated, err)
	}
}

// TestSchemaExpansion: a short schema must not become one of 10^13 parts, or a thousand times as long because it is recursive.
func TestSchemaExpansion(t *testing.T) {
	t.Parallel()
	for levels, last := range map[int]string{13: `{"type":"string"}`, 3: `{"$ref":"#/$defs/0"}`} {
		definitions := map[string]any{fmt.Sprint(levels): json.RawMessage(last), "values": json.RawMessage(`{"enum":["x"]}`)}
		for i := range levels {
			properties := map[string]any{}
			for j := range 10 {
				properties[fmt.Sprint(j)] = map[string]any{"$ref": fmt.Sprint("#/$defs/", i+1)}
			}
			properties["values"] = map[string]any{"$ref": "#/$defs/values"}
			definitions[fmt.Sprint(i)] = map[string]any{"properties": properties}
		}
		schema, err := json.Marshal(map[string]any{"$ref": "#/$defs/0", "$defs": definitions})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := gemini.Schema(string(schema)); err != nil || len(got) > len(schema) || !strings.Contains(got, `"9":{"type":"object"},"values":{"type":"string"}`) {
			t.Errorf("Schema() = %.500s, %v", got, err)
		}
	}
}

// A long text, or many types, must not be repeated until the memory is full.
func TestSchemaRepetition(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 64<<10)
	references := strings.Repeat(`,{"$ref":"#/$defs/a"}`, 300)[1:]
	for name, schema := range map[string]string{
		"text":  fmt.Sprintf(`{"properties":{"a":{"anyOf":[%s]}},"$defs":{"a":{"description":%q}}}`, references, text),
		"value": fmt.Sprintf(`{"properties":{"a":{"anyOf":[%s]}},"$defs":{"a":{"default":[{"a":%q}]}}}`, references, text),
		"types": fmt.Sprintf(`{"properties":{"a":{"title":%q,"type":["string"%s]}}}`, text, strings.Repeat(`,"string"`, 300)),
		"names": `{"properties":{"a":{"properties":{"x":{}},"required":["x"` + strings.Repeat(`,"x"`, 30_000) + `]}}}`,
	} {
		if got, err := gemini.Schema(schema); err != nil || len(got) > len(schema)+8*len(text) {
			t.Errorf("%s: Schema() has %d bytes, %v", name, len(got), err)
		}
	}
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"none":      {`{"type":"object","properties":{}}`, `null`},
		"plain":     {`{"$schema":"x","type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}},"required":["a","b"]}`, `{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		"enum":      {`{"properties":{"a":{"enum":[1,1000000],"type":"integer"},"b":{"const":"x"}}}`, `{"properties":{"a":{"enum":["1","1000000"],"type":"string"},"b":{"enum":["x"],"type":"string"}},"type":"object"}`},
		"types":     {`{"properties":{"a":{"type":["string","null"]},"b":{"type":["string","number"]}}}`, `{"properties":{"a":{"nullable":true,"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"number"}]}},"type":"object"}`},
		"array":     {`{"properties":{"a":{"type":"array"},"b":{"type":"array","items":{}}}}`, `{"properties":{"a":{"items":{"type":"string"},"type":"array"},"b":{"items":{"type":"string"},"type":"array"}},"type":"object"}`},
		"reference": {`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		"null":      {`{"properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]}}}`, `{"properties":{"a":{"nullable":true,"type":"string"}},"type":"object"}`},
		"recursive": {`{"properties":{"a":{"$ref":"#"}}}`, `{"properties":{"a":{"properties":{"a":{"type":"object"}},"type":"object"}},"type":"object"}`},
		"list of such": {`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"array","items":{"$ref":"#/$defs/b","description":"B"}}}}`,
			`{"properties":{"a":{"items":{"description":"B","items":{"type":"string"},"type":"array"},"type":"array"}},"type":"object"}`},
		"alternatives": {`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number"}}}]}`, `{"properties":{"a":{"type":"string"},"b":{"type":"number"}},"type":"object"}`},
		"refined": {`{"properties":{"a":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"oneOf":[{"required":["x"]},{"properties":{"y":{}},"required":["y"]}]},"b":{"type":"string","anyOf":[{"maxLength":2},{"minLength":4}]}}}`,
			`{"properties":{"a":{"properties":{"x":{"type":"string"},"y":{"type":"string"}},"required":["x"],"type":"object"},"b":{"type":"string"}},"type":"object"}`},
		"tagged": {`{"properties":{"a":{"type":"object","properties":{"n":{"type":"number"}},"oneOf":[{"properties":{"kind":{"const":"x"},"b":{"type":"string"}},"required":["kind"]},{"properties":{"kind":{"enum":["x","y"]}}},{"properties":{"kind":{"const":"x"},"n":{"minimum":1}}}]}}}`,
			`{"properties":{"a":{"properties":{"b":{"type":"string"},"kind":{"enum":["x","y"],"type":"string"},"n":{"minimum":1,"type":"number"}},"type":"object"}},"type":"object"}`},
		"anything": {`{"properties":{"a":{"description":"A","anyOf":[{"type":"number"},{},true]}}}`,
			`{"properties":{"a":{"anyOf":[{"type":"number"},{"type":"string"},{"type":"string"}],"description":"A"}},"type":"object"}`},
		"all of": {`{"properties":{"a":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"allOf":[{"properties":{"y":{"type":"number"}},"required":["y"]}]}}}`,
			`{"properties":{"a":{"properties":{"x":{"type":"string"},"y":{"type":"number"}},"required":["x","y"],"type":"object"}},"type":"object"}`},
		"one of several": {`{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"number"},{"type":"null"}]},"b":{"enum":["x",null]},"c":{"$ref":"#/$defs/d","description":"C"}},"$defs":{"d":{"items":{"type":"string"}}}}`,
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"number"}],"nullable":true},"b":{"enum":["x"],"nullable":true,"type":"string"},"c":{"description":"C","items":{"type":"string"},"type":"array"}},"type":"object"}`},
		"no definition": {`{"properties":{"a":{"$ref":"#/$defs/b"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		"chain":         {`{"properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$ref":"#/$defs/c~1d"},"c/d":{"type":"number"}}}`, `{"properties":{"a":{"type":"number"}},"type":"object"}`},
		"in a list":     {`{"properties":{"a":{"anyOf":[{"type":"number"},{"type":"string"}]},"b":{"$ref":"#/properties/a/anyOf/1"}}}`, `{"properties":{"a":{"anyOf":[{"type":"number"},{"type":"string"}]},"b":{"type":"string"}},"type":"object"}`},
		"anchor":        {`{"properties":{"a":{"$ref":"#a"}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		"no names": {`{"properties":{"a":{"properties":{"":{"type":"string"}},"required":[{}],"allOf":[{"properties":{"":{"type":"string"}},"required":[{}]}]}}}`,
			`{"properties":{"a":{"properties":{"":{"type":"string"}},"type":"object"}},"type":"object"}`},
		"default": {`{"properties":{"a":{"default":{"required":[{}],"b":1},"allOf":[{"default":{"required":[{}],"c":1}}]}}}`,
			`{"properties":{"a":{"default":{"b":1,"required":[{}]},"type":"string"}},"type":"object"}`},
		"default as a schema": {`{"properties":{"a":{"default":{"default":{"x":1}}},"b":{"allOf":[{"$ref":"#/properties/a/default"},{"$ref":"#/properties/a"},{"$ref":"#/properties/a/default"}]}}}`,
			`{"properties":{"a":{"default":{"default":{"x":1}},"type":"string"},"b":{"default":{"x":1},"type":"string"}},"type":"object"}`},
		"merged": {`{"properties":{"a":{"properties":{"x":{"type":"integer","title":"X"}},"required":["x"],"allOf":[{"properties":{"x":{"minimum":1,"title":"Y"}},"required":["x"]}]}}}`,
			`{"properties":{"a":{"properties":{"x":{"minimum":1,"title":"X","type":"integer"}},"required":["x"],"type":"object"}},"type":"object"}`},
		"only null":   {`{"properties":{"a":{"type":["null"]}}}`, `{"properties":{"a":{"nullable":true,"type":"string"}},"type":"object"}`},
		"mixed enum":  {`{"properties":{"a":{"type":["string","number"],"enum":["x",1]}}}`, `{"properties":{"a":{"enum":["x","1"],"type":"string"}},"type":"object"}`},
		"no property": {`{"properties":{"a":{"type":"string","properties":{"x":{}},"required":["x"]}}}`, `{"properties":{"a":{"type":"string"}},"type":"object"}`},
	} {
		got, err := gemini.Schema(c.in)
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestDocument: the error about an answer in another form than a stream shows the answer.
func TestDocument(t *testing.T) {
	t.Parallel()
	const answer = `{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`
	if _, err := decode(t, answer); err == nil || !strings.Contains(err.Error(), "a document instead of a stream") || !strings.Contains(err.Error(), "candidates") {
		t.Errorf("error %v", err)
	}
}

func TestStreamedArguments(t *testing.T) {
	t.Parallel()
	call := func(s string) string { return parts(`{"functionCall":` + s + `}`) }
	open := call(`{"name":"f","willContinue":true}`)
	long := strings.Repeat("é\\n天", 3000)
	for name, c := range map[string]struct{ pieces, want string }{
		"long":   {`[{"jsonPath":"$.z","numberValue":1},{"jsonPath":"$.a.b","stringValue":"` + long + `"}]`, `{"a":{"b":"` + long + `"},"z":1}`},
		"values": {`[{"jsonPath":"$.a","stringValue":"x","willContinue":true},{"jsonPath":"$.a","stringValue":"y"},{"jsonPath":"$.n","numberValue":1.5},{"jsonPath":"$.b","boolValue":true},{"jsonPath":"$['c d']","nullValue":"NULL_VALUE"}]`, `{"a":"xy","b":true,"c d":null,"n":1.5}`},
		"list":   {`[{"jsonPath":"$.l[0].a","numberValue":1},{"jsonPath":"$.l[1].a","numberValue":2}]`, `{"l":[{"a":1},{"a":2}]}`},
		"ends":   {`[{"jsonPath":"$.l[0][0].a","stringValue":"\\\""},{"jsonPath":"$.l[0][0].b","stringValue":""},{"jsonPath":"$.l[1]","stringValue":"x"},{"jsonPath":"$['ab']","stringValue":"y"}]`, `{"ab":"y","l":[[{"a":"\\\"","b":""}],"x"]}`},
	} {
		events, err := decode(t, open+call(`{"partialArgs":`+c.pieces+`,"willContinue":true}`)+call(`{}`)+event(end))
		var got strings.Builder
		for _, e := range events {
			got.WriteString(e.Text)
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %+v, error %v, want %s", name, events, err, c.want)
		}
	}
	events, err := decode(t, call(`{"name":"f","args":{"a":1},"willContinue":true}`)+call(`{"args":{"a":1},"partialArgs":[{"jsonPath":"$.b","numberValue":1}]}`)+event(end))
	var whole strings.Builder
	for _, e := range events {
		whole.WriteString(e.Text)
	}
	if err != nil || whole.String() != `{"a":1}` {
		t.Errorf("arguments that were complete: %s, %v", whole.String(), err)
	}
	var many strings.Builder
	for i := range 1 << 14 {
		fmt.Fprintf(&many, `,{"jsonPath":"$.%s%d","numberValue":1}`, strings.Repeat("a", 20), i)
	}
	for name, pieces := range map[string]string{
		"gap":      `[{"jsonPath":"$.l[9]","numberValue":1}]`,
		"conflict": `[{"jsonPath":"$.a","numberValue":1},{"jsonPath":"$.a.b","numberValue":1}]`,
		"kinds":    `[{"jsonPath":"$.a.b","numberValue":1},{"jsonPath":"$.a[0]","numberValue":1}]`,
		"twice":    `[{"jsonPath":"$.a","numberValue":1},{"jsonPath":"$.a","numberValue":1}]`,
		"a list":   `[{"jsonPath":"$[0]","numberValue":1}]`,
		"a value":  `[{"jsonPath":"$","numberValue":1}]`,
		"many":     `[{"jsonPath":"$.l[0]","numberValue":1}` + many.String() + `]`,
		"path":     `[{"jsonPath":"a","numberValue":1}]`,
		"deep":     `[{"jsonPath":"$` + strings.Repeat(".a", 100) + `","numberValue":1}]`,
	} {
		if events, err := decode(t, open+call(`{"partialArgs":`+pieces+`}`)+event(end)); err == nil {
			t.Errorf("%s: no error, events %+v", name, events)
		}
	}
	long = strings.Repeat("1", 3<<20)
	for name, piece := range map[string]string{"long numbers": `"numberValue":` + long, "long values": `"boolValue":"` + long + `"`} {
		answer := open
		for i := range 6 {
			answer += call(fmt.Sprintf(`{"partialArgs":[{"jsonPath":"$.a%d",%s}],"willContinue":true}`, i, piece))
		}
		if _, err := decode(t, answer); !errors.Is(err, sdk.ErrAnswerLimit) { // before the end of the call
			t.Errorf("%s: error %.200v, want %v", name, err, sdk.ErrAnswerLimit)
		}
	}
}

// TestStreamedTrees: pieces of random arguments become the same arguments. Two calls follow each other, and neither has a last piece.
func TestStreamedTrees(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 0))
		want, answer := map[string]any{}, ""
		for _, name := range []string{"f", "g"} {
			tree := map[string]any{"a": randomTree(r, 4), "b": randomTree(r, 2)}
			want[name] = tree
			answer += parts(`{"functionCall":{"name":"` + name + `","willContinue":true}}`)
			for _, piece := range piecesOf(t, r, "$", tree) {
				answer += parts(`{"functionCall":{"partialArgs":[` + piece + `],"willContinue":true}}`)
			}
		}
		events, err := decode(t, answer+event(end))
		texts, tools, got := map[string]string{}, map[string]string{}, map[string]any{}
		for _, e := range events {
			texts[e.ID] += e.Text
			if e.Tool != "" {
				tools[e.ID] = e.Tool
			}
		}
		for id, tool := range tools {
			var args any
			err = errors.Join(err, json.Unmarshal([]byte(texts[id]), &args))
			got[tool] = args
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("seed %d: %v\n%s", seed, err, diff)
		}
	}
}

func randomTree(r *rand.Rand, depth int) any {
	switch kind := r.IntN(6); {
	case kind < 2 && depth > 0:
		list := make([]any, 1+r.IntN(3))
		for i := range list {
			list[i] = randomTree(r, depth-1)
		}
		return list
	case kind < 4 && depth > 0:
		object := map[string]any{}
		for range 1 + r.IntN(3) {
			object[[]string{"a", "b.c", `d"`, "", "é]"}[r.IntN(5)]] = randomTree(r, depth-1)
		}
		return object
	}
	return []any{"", "abc", "x\"\\\n", "éü天", true, 1.5, nil}[r.IntN(7)]
}

// piecesOf returns the pieces of a value in an order in which a server sends them; texts come in several.
func piecesOf(t *testing.T, r *rand.Rand, path string, v any) (out []string) {
	piece := func(name string, v any) {
		data, err := json.Marshal(map[string]any{"jsonPath": path, name: v})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			out = append(out, piecesOf(t, r, path+"['"+name+"']", e)...)
		}
	case []any:
		for i, e := range v {
			out = append(out, piecesOf(t, r, fmt.Sprintf("%s[%d]", path, i), e)...)
		}
	case string:
		for rest, more := []rune(v), true; more; more = len(rest) > 0 {
			n := r.IntN(len(rest) + 1)
			piece("stringValue", string(rest[:n]))
			rest = rest[n:]
		}
	case float64:
		piece("numberValue", v)
	case bool:
		piece("boolValue", v)
	default:
		piece("nullValue", "NULL_VALUE")
	}
	return out
}

func TestRequest(t *testing.T) {
	t.Parallel()
	req := wiretest.Hello()
	req.Model = sdk.Model{ID: "gemini-3.1-pro:x/y", ProviderID: "test"}
	topK := 64
	req.Params = sdk.ChatParams{MaxOutputTokens: 100, TopK: &topK, Options: sdk.Object{"thinkingConfig": sdk.Object{"includeThoughts": true}, "safetySettings": []any{}}}
	req.ToolChoice = sdk.ToolChoiceRequired
	req.Tools[0].Parameters = json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"}}}`)
	req.Messages = append(req.Messages,
		sdk.ModelMessage{Role: sdk.RoleAssistant, Content: []sdk.ModelContent{
			{Type: sdk.ContentReasoning, Text: "hm"},
			{Type: sdk.ContentText, Text: "I look.", Metadata: sdk.Object{"thoughtSignature": "s1"}},
			{Type: sdk.ContentToolCall, CallID: "c1", Tool: "read", Args: json.RawMessage(`{"p":"x"}`), Metadata: sdk.Object{"id": true}},
			{Type: sdk.ContentToolCall, CallID: "c2", Tool: "read"},
		}},
		sdk.ModelMessage{Role: sdk.RoleTool, Content: []sdk.ModelContent{
			{Type: sdk.ContentToolResult, CallID: "c1", Tool: "read", Text: "one", Files: []*sdk.FilePart{{Mime: "image/png", URL: "data:image/png;base64,QQ=="}}},
			{Type: sdk.ContentToolResult, CallID: "c2", Tool: "read"},
		}},
	)
	info := wiretest.Info()
	info.Key = "secret-key"
	sent, body := wiretest.Sent(t, gemini.Open, info, req)
	if sent.URL.EscapedPath() != "/v1/models/gemini-3.1-pro%3Ax%2Fy:streamGenerateContent" || sent.URL.RawQuery != "alt=sse" || sent.Header.Get("x-goog-api-key") != "secret-key" {
		t.Errorf("URL %s, headers %v", sent.URL, sent.Header)
	}
	want := `{"contents":[{"role":"user","parts":[{"text":"hi"}]},` +
		`{"role":"model","parts":[{"text":"hm","thought":true},{"text":"I look.","thoughtSignature":"s1"},` +
		`{"functionCall":{"id":"c1","name":"read","args":{"p":"x"}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"name":"read","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"read","response":{"content":"one","name":"read"},"parts":[{"inlineData":{"mimeType":"image/png","data":"QQ=="}}]}},` +
		`{"functionResponse":{"name":"read","response":{"content":"(no output)","name":"read"}}}]}],` +
		`"systemInstruction":{"parts":[{"text":"Be brief."}]},` +
		`"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parameters":{"properties":{"p":{"type":"string"}},"type":"object"}}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` +
		`"generationConfig":{"maxOutputTokens":100,"thinkingConfig":{"includeThoughts":true},"topK":64},"safetySettings":[]}`
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
}

// TestToolNames: a name that Gemini refuses is changed in requests, and back in answers.
func TestToolNames(t *testing.T) {
	t.Parallel()
	req := wiretest.Hello()
	req.Tools[0].ID = "1password_read"
	if _, body := wiretest.Sent(t, gemini.Open, wiretest.Info(), req); !strings.Contains(body, `"name":"n__1password_read"`) {
		t.Errorf("body %s", body)
	}
	for sent, want := range map[string]string{"n__1password_read": "1password_read", "n__x": "n__x", "read": "read"} {
		answer := `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"` + sent + `","args":{}}}]},"finishReason":"STOP"}]}`
		events, err := wiretest.Decode(t.Context(), gemini.Open, wiretest.Info(), req, []byte("data: "+answer+"\n\n"))
		if err != nil || len(events) == 0 || events[0].Tool != want {
			t.Errorf("call of %s: %+v, %v, want %s", sent, events, err, want)
		}
	}
}

func TestVertexAddress(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"global": "aiplatform.googleapis.com", "eu": "aiplatform.eu.rep.googleapis.com", "europe-west4": "europe-west4-aiplatform.googleapis.com",
	} {
		got, err := gemini.VertexAddress(location)
		if err != nil || got != "https://"+want+"/v1beta1/projects/p/locations/"+location+"/publishers/google" {
			t.Errorf("%s: %s, %v", location, got, err)
		}
	}
}

// TestLocationNamesNoHost: the location becomes part of the host, but cannot name another one.
func TestLocationNamesNoHost(t *testing.T) {
	t.Parallel()
	for _, location := range []string{"evil.example/", "evil.example#", "u@evil.example:443", "EU"} {
		_, err := gemini.VertexAddress(location)
		if want := "options.location is " + location; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Setup = %v, want %q", err, want)
		}
	}
}

// TestKeyOnly: an address that a project chose gets no Application Default Credentials.
func TestKeyOnly(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"": "your Application Default Credentials are not used there", "key-of-the-project": ""} {
		info := sdk.ProviderInfo{ID: "g", NPM: "@ai-sdk/google-vertex", Key: key, KeyOnly: true, BaseURL: "https://evil.example"}
		_, err := gemini.Open(info, wire.NewTransport(), slog.New(slog.DiscardHandler))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Open with the key %q = %v, want %q", key, err, want)
		}
	}
}

// TestEnumerations: values that were announced as texts come back as what they are; others are not changed.
func TestEnumerations(t *testing.T) {
	t.Parallel()
	req := wiretest.Hello()
	req.Tools[0].Parameters = json.RawMessage(`{"properties":{"n":{"enum":[1,1000000]},"b":{"const":true},"s":{"enum":["1"]},"l":{"items":{"properties":{"n":{"enum":[2.50]}}}},"x":{},
		"o":{"anyOf":[{"enum":[3,"4"]},{"type":"null"}]},"r":{"$ref":"#/$defs/r"},
		"m":{"anyOf":[{"$ref":"#/$defs/b"},{"type":"null"}]},"u":{"anyOf":[{"properties":{"k":{"const":"a"},"v":{"type":"string"}}},{"$ref":"#/$defs/b"}]}},
		"$defs":{"r":{"allOf":[{"enum":[5]}]},"b":{"properties":{"k":{"const":"b"},"v":{"enum":[6]}}}}}`)
	for args, want := range map[string]string{
		`{"n":"1000000","b":"true","s":"1","l":[{"n":"2.50"}],"x":"1"}`: `{"b":true,"l":[{"n":2.50}],"n":1000000,"s":"1","x":"1"}`,
		`{"s":"1", "n":"7"}`: `{"s":"1", "n":"7"}`,
		`{"n":1, "b":true}`:  `{"n":1, "b":true}`,
		`{"o":"3","r":"5"}`:  `{"o":3,"r":5}`,
		`{"o":"4", "r":"6"}`: `{"o":"4", "r":"6"}`,
		`{"m":{"v":"6"}}`:    `{"m":{"v":6}}`,

		`{"u": {"k":"a", "v":"6"}}`: `{"u": {"k":"a", "v":"6"}}`,
	} {
		events, err := wiretest.Decode(t.Context(), gemini.Open, wiretest.Info(), req, []byte(parts(`{"functionCall":{"name":"read","args":`+args+`}}`)+event(end)))
		got := ""
		for i := range events {
			got += events[i].Text
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", args, got, err, want)
		}
	}
}

// TestRecursiveSchema: arguments are passed on, even if the tool's schema refers to itself where parameters does not look.
func TestRecursiveSchema(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"allOf":[{"$ref":"#"}]}`,
		`{"properties":{"a":{"type":"string","properties":{"b":{"$ref":"#/properties/a/properties/b"}}}}}`,
	} {
		req := wiretest.Hello()
		req.Tools[0].Parameters = json.RawMessage(schema)
		events, err := wiretest.Decode(t.Context(), gemini.Open, wiretest.Info(), req, []byte(parts(`{"functionCall":{"name":"read","args":{"a":{"b":"1"}}}}`)+event(end)))
		if err != nil || events[1].Text != `{"a":{"b":"1"}}` {
			t.Errorf("%s: %+v, %v", schema, events, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	events, err := decode(t, event(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":5}}`))
	if err != nil || len(events) != 1 || events[0].Reason != sdk.FinishContentFilter {
		t.Errorf("blocked prompt: %+v, %v", events, err)
	}
	events, err = decode(t, parts(`{"text":"a"}`)+event(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":"many","candidatesTokenCount":3}}`))
	if err != nil || events[len(events)-1].Tokens != (sdk.Tokens{Total: 3, Output: 3}) {
		t.Errorf("a count of an unexpected type: %+v, %v, want the others", events, err)
	}
	events, err = decode(t, parts(`{"text":"a"}`)+parts(`{"text":"","thoughtSignature":"s"}`)+event(end))
	want := sdk.Tokens{Total: 15, Input: 6, Output: 3, Reasoning: 2, Cache: sdk.CacheCount{Read: 4}}
	for _, reason := range []string{"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"} {
		var failed *sdk.ProviderError
		if _, err := decode(t, parts(`{"text":""}`)+event(`{"candidates":[{"finishReason":"`+reason+`"}]}`)); !errors.As(err, &failed) || !failed.Cut {
			t.Errorf("%s: error %v, want one that another try can cure", reason, err)
		}
	}
	if err != nil || len(events) != 3 || events[1].ID != events[0].ID || events[1].Metadata["thoughtSignature"] != "s" || events[2].Tokens != want {
		t.Errorf("signed text: %+v, %v", events, err)
	}
}
