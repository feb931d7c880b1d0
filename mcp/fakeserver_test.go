package mcp_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tenonhq/tenon/internal/value"
)

// fakeServer is an MCP server for tests: the test binary run again with TENON_MCP_FAKE set to what it is to do wrong. It speaks the
// protocol by hand, so that it can break every rule of it.
type fakeServer struct {
	mode string
	out  *bufio.Writer

	mu      sync.Mutex
	pending map[string]chan json.RawMessage // answers to its own requests
	next    int
	lists   int // of tools that were requested
	child   int // a process of its own
}

type fakeMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func runFake(mode string) {
	s := &fakeServer{mode: mode, out: bufio.NewWriter(os.Stdout), pending: map[string]chan json.RawMessage{}}
	switch mode {
	case "exit":
		fmt.Fprintln(os.Stderr, "cannot find my configuration")
		os.Exit(3)
	case "hang":
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "endless":
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	case "orphans": // a child that ignores being asked to end
		child := exec.Command("sleep", "1000")
		child.Stdout = os.Stdout
		if child.Start() == nil {
			s.child = child.Process.Pid
		}
		signal.Ignore(syscall.SIGTERM)
	case "flood":
		go func() {
			for {
				fmt.Fprintln(os.Stderr, strings.Repeat("e", 1<<12))
			}
		}()
	case "garbage":
		fmt.Print("Welcome to my server!\n{\"jsonrpc\": \n\x00\xff\n[]\n[1,2]\n{}\nnull\n{\"id\":null}\n")
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			if mode == "orphans" {
				select {}
			}
			os.Exit(0)
		}
		var m fakeMessage
		if json.Unmarshal(line, &m) != nil {
			continue
		}
		if m.Method == "" {
			s.mu.Lock()
			if c := s.pending[string(m.ID)]; c != nil {
				c <- append(append(json.RawMessage{}, m.Result...), m.Error...)
			}
			s.mu.Unlock()
			continue
		}
		if len(m.ID) > 0 {
			go s.handle(m)
		} else if m.Method == "notifications/cancelled" && os.Getenv("CANCELLED") != "" {
			appendLine(os.Getenv("CANCELLED"), string(m.Params))
		}
	}
}

func appendLine(path, text string) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(f, text)
		f.Close()
	}
}

func (s *fakeServer) write(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.WriteString(text + "\n")
	_ = s.out.Flush()
}

func (s *fakeServer) reply(id json.RawMessage, result any) {
	raw, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, raw)
	switch s.mode {
	case "duplicate":
		s.write(`{"jsonrpc":"2.0","id":99999,"result":{}}`)
		s.write(`{"jsonrpc":"2.0","id":"unknown","result":{}}`)
		s.write(answer)
	case "batch":
		answer = "[" + answer + `,{"jsonrpc":"2.0","method":"notifications/nothing"}]`
	case "garbage":
		s.write("INFO handled a request")
	}
	s.write(answer)
}

func (s *fakeServer) fail(id json.RawMessage, code int, text string) {
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, text))
}

// request asks the client and waits for its answer.
func (s *fakeServer) request(method, params string) string {
	s.mu.Lock()
	s.next++
	id := fmt.Sprintf(`"from-server-%d"`, s.next)
	c := make(chan json.RawMessage, 1)
	s.pending[id] = c
	s.mu.Unlock()
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return string(<-c)
}

func text(t string) map[string]any {
	return map[string]any{"content": []any{map[string]any{"type": "text", "text": t}}}
}

// page answers with one of PAGES pages of 50 tools.
func (s *fakeServer) page(m fakeMessage) {
	var p struct{ Cursor string }
	_ = json.Unmarshal(m.Params, &p)
	n, _ := strconv.Atoi(p.Cursor)
	appendLine(os.Getenv("COUNT"), "list")
	var list []any
	for i := range 50 {
		list = append(list, tool(fmt.Sprintf("tool %d %d", n, i), anyObject))
	}
	result := map[string]any{"tools": list}
	if last, _ := strconv.Atoi(os.Getenv("PAGES")); n+1 < last {
		result["nextCursor"] = strconv.Itoa(n + 1)
	}
	s.reply(m.ID, result)
}

func (s *fakeServer) handle(m fakeMessage) {
	switch m.Method {
	case "initialize":
		if s.mode == "modern" {
			s.fail(m.ID, -32022, "unsupported")
			return
		}
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(m.Params, &p)
		capabilities := map[string]any{"tools": map[string]any{"listChanged": true}, "prompts": map[string]any{}, "resources": map[string]any{"subscribe": true}, "logging": map[string]any{}, "completions": map[string]any{}}
		if os.Getenv("INTERCEPTORS") != "" {
			capabilities["extensions"] = map[string]any{"io.modelcontextprotocol/interceptors": map[string]any{}}
		}
		instructions := "Call echo for everything."
		if raw, err := os.ReadFile(os.Getenv("INSTRUCTIONS")); err == nil {
			instructions = string(raw)
		}
		s.reply(m.ID, map[string]any{
			"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": map[string]any{"name": "fake", "version": "1"},
			"instructions": instructions,
		})
	case "tools/list":
		if s.mode == "pages" {
			s.page(m)
			return
		}
		if s.mode == "growing" {
			s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			<-time.After(300 * time.Millisecond) // until the notification is handled
			appendLine(os.Getenv("COUNT"), "list")
		}
		if s.mode == "lists once" && s.lists > 0 {
			appendLine(os.Getenv("COUNT"), "list")
			return
		}
		list := s.tools()
		if s.lists++; s.mode == "storm" {
			for i := range 5 {
				list = append(list, tool(fmt.Sprintf("new %d %d", s.lists, i), anyObject))
			}
		}
		s.reply(m.ID, map[string]any{"tools": list})
		if s.mode == "storm" {
			appendLine(os.Getenv("COUNT"), "list")
			s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"alas"}}`)
		}
	case "prompts/list":
		s.reply(m.ID, map[string]any{"prompts": []any{map[string]any{
			"name": "review code", "description": "Reviews", "arguments": []any{
				map[string]any{"name": "file", "required": true}, map[string]any{"name": "note"},
			},
		}}})
	case "prompts/get":
		s.reply(m.ID, map[string]any{"messages": []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": "review " + string(m.Params)}}}})
	case "resources/list":
		s.reply(m.ID, map[string]any{"resources": []any{map[string]any{"uri": "note://a", "name": "a", "mimeType": "text/plain"}}})
	case "resources/templates/list":
		s.reply(m.ID, map[string]any{"resourceTemplates": []any{map[string]any{"uriTemplate": "note://{name}", "name": "any note"}}})
	case "resources/read":
		s.reply(m.ID, map[string]any{"contents": []any{map[string]any{"uri": "note://a", "mimeType": "text/plain", "text": "the note"}}})
	case "resources/subscribe", "logging/setLevel", "tasks/cancel":
		if f := os.Getenv("LEVEL"); f != "" && m.Method != "resources/subscribe" {
			appendLine(f, string(m.Params))
		}
		s.reply(m.ID, map[string]any{})
	case "tasks/result": // never ready
		appendLine(os.Getenv("COUNT"), "result")
	case "completion/complete":
		s.reply(m.ID, map[string]any{"completion": map[string]any{"values": []string{"main.go", `my "notes".md`, string(m.Params)}}})
	case "interceptors/list":
		s.reply(m.ID, json.RawMessage(`{"interceptors":`+os.Getenv("INTERCEPTORS")+`}`))
	case "interceptor/invoke":
		s.intercept(m)
	case "tools/call":
		var p struct {
			Name string          `json:"name"`
			Args json.RawMessage `json:"arguments"`
			Meta struct {
				Token any `json:"progressToken"`
			} `json:"_meta"`
		}
		_ = json.Unmarshal(m.Params, &p)
		s.call(m.ID, p.Name, p.Args, p.Meta.Token)
	default:
		s.fail(m.ID, -32601, "Method not found")
	}
}

func tool(name, schema string) map[string]any {
	return map[string]any{"name": name, "description": "does " + name, "inputSchema": json.RawMessage(schema)}
}

const anyObject = `{"type":"object"}`

func (s *fakeServer) tools() []any {
	if path := os.Getenv("TOOLS"); path != "" { // the test decides, and may change its mind
		raw, err := os.ReadFile(path)
		var list []any
		if err == nil && json.Unmarshal(raw, &list) == nil {
			return list
		}
	}
	list := []any{tool("echo", `{"type":"object","properties":{"text":{"type":"string","x-keep":true}},"required":["text"],"$defs":{"a":{}}}`)}
	for _, name := range []string{
		"count", "never", "die", "env", "image", "fails", "structured", "badly structured", "progress", "ask", "sample", "roots",
		"big", "utf8", "hook", "links", "change", "pid", "child", "touch", "gate",
	} {
		list = append(list, tool(name, anyObject))
	}
	task := tool("task", anyObject)
	task["execution"] = map[string]any{"taskSupport": "required"}
	list = append(list, task)
	readOnly := tool("die reading", anyObject)
	readOnly["annotations"] = map[string]any{"readOnlyHint": true}
	for _, t := range list {
		if m := t.(map[string]any); strings.HasSuffix(m["name"].(string), "structured") {
			m["outputSchema"] = json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)
		}
	}
	return append(list, readOnly, tool("no object", `{"type":"string"}`), tool("bad schema", `{"type":"object","properties":{"a":{"anyOf":[{"type":["str","null"]}]}}}`), "no tool at all", map[string]any{"name": ""})
}

func (s *fakeServer) call(id json.RawMessage, name string, args json.RawMessage, token any) {
	var a struct {
		Text  string `json:"text"`
		Value json.RawMessage
	}
	_ = json.Unmarshal(args, &a)
	switch name {
	case "echo":
		s.reply(id, text(a.Text))
	case "count": // one line per execution, before the answer
		appendLine(os.Getenv("COUNT"), a.Text)
		s.reply(id, text("counted"))
	case "never":
		if path := os.Getenv("COUNT"); path != "" {
			appendLine(path, a.Text)
		}
	case "die", "die reading":
		appendLine(os.Getenv("COUNT"), name)
		if raw, _ := os.ReadFile(os.Getenv("COUNT")); strings.Count(string(raw), name+"\n") > 1 && name == "die reading" {
			s.reply(id, text("alive"))
			return
		}
		os.Exit(7)
	case "task":
		appendLine(os.Getenv("COUNT"), "created")
		if a.Text == "late" {
			<-time.After(100 * time.Millisecond)
		}
		s.reply(id, map[string]any{"task": map[string]any{"taskId": "t1"}})
	case "env":
		s.reply(id, text(strings.Join(os.Environ(), "\n")))
	case "child":
		s.reply(id, text(fmt.Sprint(s.child)))
	case "pid":
		s.reply(id, text(fmt.Sprint(os.Getpid())))
	case "image":
		data := base64.StdEncoding.EncodeToString([]byte("not really a png"))
		s.reply(id, map[string]any{"content": []any{
			map[string]any{"type": "image", "data": data, "mimeType": "image/png"},
			map[string]any{"type": "audio", "data": data[:8] + "\r\n" + data[8:], "mimeType": "audio/wav"},
			map[string]any{"type": "image", "data": "!!", "mimeType": "image/png"},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "x://zip", "mimeType": "application/zip", "blob": "UEsDBP8="}},
			map[string]any{"type": "resource", "resource": map[string]any{"uri": "x://text", "text": "inside"}},
			map[string]any{"type": "hologram"},
		}})
	case "links":
		s.reply(id, map[string]any{"content": []any{map[string]any{"type": "resource_link", "uri": "note://a", "name": "a", "mimeType": "text/plain"}}})
	case "fails":
		r := text("it went wrong")
		r["isError"] = true
		s.reply(id, r)
	case "structured":
		s.reply(id, map[string]any{"content": []any{}, "structuredContent": map[string]any{"n": 1}})
	case "badly structured":
		s.reply(id, map[string]any{"content": []any{}, "structuredContent": map[string]any{"n": "one"}})
	case "progress":
		t, _ := json.Marshal(token)
		for i := 1; i <= 3; i++ {
			<-time.After(1200 * time.Millisecond) // together longer than the test lets a silent server take
			s.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":3}}`, t, i))
		}
		s.reply(id, text("progressed"))
	case "ask":
		if a.Text != "" { // withdraws its question: cancels it, or ends the call without the answer
			s.write(`{"jsonrpc":"2.0","id":"w1","method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}}`)
			if a.Text == "cancel" {
				s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w1"}}`)
			} else {
				s.reply(id, text(a.Text))
			}
			return
		}
		s.reply(id, text(s.request("elicitation/create", string(args))))
	case "sample":
		params := `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10,"systemPrompt":"be brief"}`
		if string(args) != "{}" {
			params = string(args)
		}
		var more struct{ Times int }
		_ = json.Unmarshal(args, &more)
		for range more.Times {
			s.request("sampling/createMessage", params)
		}
		s.reply(id, text(s.request("sampling/createMessage", params)))
	case "roots":
		s.reply(id, text(s.request("roots/list", "{}")))
	case "big":
		s.reply(id, text(strings.Repeat("é", 3<<20)))
	case "utf8":
		s.write(fmt.Sprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xff\xfeb\"}]}}", id))
	case "hook":
		var in struct {
			Value map[string]any `json:"value"`
		}
		_ = json.Unmarshal(args, &in)
		if out, ok := in.Value["output"].(string); ok {
			in.Value["output"] = strings.ReplaceAll(out, "secret", "******")
		}
		raw, _ := json.Marshal(map[string]any{"value": in.Value})
		s.reply(id, text(string(raw)))
	case "gate": // requires that the user opens an address before the first call with a text
		if raw, _ := os.ReadFile(os.Getenv("COUNT")); strings.Contains(string(raw), a.Text+"\n") {
			s.reply(id, text("open"))
			return
		}
		appendLine(os.Getenv("COUNT"), a.Text)
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32042,"message":"first visit","data":{"elicitations":[{"mode":"url","message":"Go","elicitationId":"1","url":"https://a.example/x"}]}}}`, id))
	case "touch":
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q}}`, a.Text))
		s.reply(id, text("touched"))
	case "change":
		s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.reply(id, text("changed"))
	default:
		s.fail(id, -32602, "unknown tool "+name)
	}
}

// intercept answers by the name of the interceptor.
func (s *fakeServer) intercept(m fakeMessage) {
	var p struct {
		Name    string          `json:"name"`
		Payload json.RawMessage `json:"payload"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if log := os.Getenv("INVOKED"); log != "" {
		appendLine(log, string(m.Params))
	}
	switch {
	case strings.HasPrefix(p.Name, "redact"):
		changed := strings.ReplaceAll(string(p.Payload), "secret", "[redacted]")
		if changed == string(p.Payload) {
			s.reply(m.ID, map[string]any{"modified": false})
			return
		}
		s.reply(m.ID, map[string]any{"interceptor": p.Name, "type": "mutation", "modified": true, "payload": json.RawMessage(changed)})
	case strings.HasPrefix(p.Name, "append"):
		changed := strings.ReplaceAll(string(p.Payload), "END", strings.TrimPrefix(p.Name, "append")+"END")
		s.reply(m.ID, map[string]any{"modified": true, "payload": json.RawMessage(changed)})
	case strings.HasPrefix(p.Name, "deny"):
		if strings.Contains(string(p.Payload), "forbidden") {
			s.reply(m.ID, map[string]any{"valid": false, "severity": "error", "messages": []any{map[string]any{"path": "arguments", "message": "no", "severity": "error"}}})
			return
		}
		s.reply(m.ID, map[string]any{"valid": true, "severity": "info"})
	case strings.HasPrefix(p.Name, "warn"):
		s.reply(m.ID, map[string]any{"valid": false, "severity": "warn", "messages": []any{map[string]any{"message": "hm"}}})
	case strings.HasPrefix(p.Name, "crash"):
		s.fail(m.ID, -32603, "interceptor crashed")
	case strings.HasPrefix(p.Name, "hostile-"):
		s.reply(m.ID, map[string]any{"modified": true, "payload": json.RawMessage(`{"name":"echo","arguments":` + hostile(strings.TrimPrefix(p.Name, "hostile-")) + `}`)})
	case strings.HasPrefix(p.Name, "rename"):
		s.reply(m.ID, map[string]any{"modified": true, "payload": json.RawMessage(strings.Replace(string(p.Payload), `"name":"echo"`, `"name":"rm"`, 1))})
	default:
		s.fail(m.ID, -32602, "unknown interceptor")
	}
}

// hostile returns arguments that are too large in one way.
func hostile(kind string) string {
	nested := func(levels int) string {
		return `{"a":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + `}`
	}
	switch kind {
	case "deep":
		return nested(value.MaxAnswerDepth + 1)
	case "bottomless":
		return nested(9000) // encoding/json reads 10,000
	case "huge":
		return `{"a":"` + strings.Repeat("x", value.MaxAnswerBytes) + `"}`
	}
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"k%d":%d`, i, i)
	}
	return `{` + b.String()[1:] + `}`
}
