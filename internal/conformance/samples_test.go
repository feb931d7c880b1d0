package conformance_test

import (
	"encoding/json"

	"github.com/tenonhq/tenon/sdk"
)

// Values in sample inputs.
const (
	sessionID = "ses_conformance"
	messageID = "msg_conformance"
	callID    = "call_conformance"
	exotic    = "Zürich 東京 🦊 \u2028 <&> \" \\ \t end"
)

// sample is a point's input and value with everything that may get lost on the way: unknown fields, large numbers, null and empty
// values, unicode.
type sample struct {
	input func() any
	value func() any // nil where the point has none
	// change is one that a hook can make, text a place for a text; empty where the value has none.
	change sdk.Change
	text   string
}

func set(pointer, value string) sdk.Change {
	return sdk.Change{Pointer: pointer, Value: json.RawMessage(value)}
}

func remove(pointer string) sdk.Change { return sdk.Change{Pointer: pointer, Remove: true} }

// odd is an object with values that survive no careless decoder.
func odd() sdk.Object {
	return sdk.Object{
		"int": json.Number("12345678901234567890"), "long": json.Number("3.14159265358979323846264338327950288"),
		"small": 1.5, "none": nil, "empty": "", "list": []any{}, "object": map[string]any{}, "unicode": exotic,
		"a/b": "slash", "a~b": "tilde", "deep": map[string]any{"list": []any{1.0, "two", nil, map[string]any{"k": "v"}}},
	}
}

func unknown() sdk.Extra {
	return sdk.Extra{"futureField": json.RawMessage(`{"n":12345678901234567890,"list":[1,null,"x"]}`)}
}

func userMessage() *sdk.UserMessage {
	return &sdk.UserMessage{
		MessageHead: sdk.MessageHead{ID: messageID, SessionID: sessionID}, Time: sdk.MessageTime{Created: 1700000000001},
		Agent: "build", Model: sdk.ModelRef{ProviderID: "offline", ModelID: "offline"}, System: exotic,
		Tools: map[string]bool{"bash": false}, Extra: unknown(),
	}
}

func assistantMessage() *sdk.AssistantMessage {
	return &sdk.AssistantMessage{
		MessageHead: sdk.MessageHead{ID: "msg_conformance2", SessionID: sessionID}, ParentID: messageID, ModelID: "offline", ProviderID: "offline",
		Agent: "build", Mode: "build", Path: sdk.MessagePath{Cwd: "/project", Root: "/project"}, Tokens: sdk.Tokens{Input: 1 << 60},
		Time: sdk.MessageTime{Created: 1700000000002, Completed: 1700000000003}, Finish: sdk.FinishToolCalls, Extra: unknown(),
	}
}

func head(id string) sdk.PartHead {
	return sdk.PartHead{ID: id, SessionID: sessionID, MessageID: messageID}
}

func textPart() *sdk.TextPart {
	return &sdk.TextPart{PartHead: head("prt_text"), Text: "hello " + exotic, Metadata: odd(), Extra: unknown()}
}

func filePart() *sdk.FilePart {
	return &sdk.FilePart{PartHead: head("prt_file"), Mime: "image/png", Filename: "dot.png", URL: "data:image/png;base64,iVBORw0KGgo="}
}

func toolPart() *sdk.ToolPart {
	return &sdk.ToolPart{PartHead: head("prt_tool"), CallID: callID, Tool: "bash", State: sdk.ToolState{
		Status: sdk.ToolCompleted, Input: json.RawMessage(`{"n":12345678901234567890,"command":"ls"}`), Output: "secret " + exotic,
		Title: "ls", Metadata: odd(), Time: sdk.ToolTime{Start: 1, End: 2}, Attachments: []*sdk.FilePart{filePart()},
	}}
}

func parts() sdk.Parts {
	return sdk.Parts{textPart(), toolPart(), filePart(), &sdk.UnknownPart{
		PartHead: head("prt_new"), Raw: json.RawMessage(`{"id":"prt_new","sessionID":"ses_conformance","messageID":"msg_conformance","type":"hologram","depth":12345678901234567890}`),
	}}
}

func messages() *sdk.ChatMessagesValue {
	return &sdk.ChatMessagesValue{Messages: []sdk.MessageWithParts{
		{Info: userMessage(), Parts: parts()},
		{Info: assistantMessage(), Parts: sdk.Parts{textPart()}},
		{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: "msg_empty", SessionID: sessionID}}, Parts: sdk.Parts{}},
	}}
}

func model() sdk.Model {
	return sdk.Model{ID: "offline", ProviderID: "offline", Name: "Offline", Limit: sdk.ModelLimit{Context: 1 << 40}, ToolCall: true, Options: odd()}
}

func provider() sdk.ProviderRef {
	return sdk.ProviderRef{ID: "offline", Name: "Offline", Protocol: "offline"}
}

func chatInput() any {
	return &sdk.ChatInput{
		SessionID: sessionID, Agent: "build", Model: model(), Provider: provider(), Message: userMessage(), Purpose: sdk.PurposeTurn, Step: 3,
	}
}

func toolInput() sdk.ToolInput {
	return sdk.ToolInput{
		Tool: "bash", Origin: sdk.Origin{Carrier: sdk.CarrierMCP, Plugin: "mcp", Server: "server"}, SessionID: sessionID,
		MessageID: messageID, CallID: callID, Agent: "build", AgentPath: "build/helper",
	}
}

func session() any {
	return &sdk.SessionInput{SessionID: sessionID, Session: sdk.Session{
		ID: sessionID, Slug: "conformance", ProjectID: "global", Directory: "/project", Title: exotic, Agent: "build", Version: "test",
		Tokens: sdk.Tokens{Input: 1 << 60},
	}}
}

// sampleOf returns the sample of a point.
func sampleOf(p sdk.Point) sample {
	if s, ok := turnSamples()[p]; ok {
		return s
	}
	return otherSamples()[p]
}

// turnSamples are those around model requests and tool calls.
func turnSamples() map[sdk.Point]sample {
	temperature, topK := 0.5, 40
	return map[sdk.Point]sample{
		sdk.PointChatMessages: {chatInput, func() any { return messages() }, set("/messages/0/parts/0/text", `"changed"`), "/messages/0/parts/0/text"},
		sdk.PointChatSystem: {
			chatInput, func() any { return &sdk.ChatSystemValue{System: []string{"first " + exotic, "", "third"}} },
			set("/system/1", `"changed"`), "/system/0",
		},
		sdk.PointChatParams: {chatInput, func() any {
			return &sdk.ChatParams{Temperature: &temperature, TopK: &topK, MaxOutputTokens: 1 << 60, Options: odd()}
		}, set("/temperature", "0.25"), "/options/text"},
		sdk.PointChatHeaders: {
			chatInput, func() any { return &sdk.ChatHeadersValue{Headers: map[string]string{"x-a": "1", "x-empty": ""}} },
			set("/headers/x-new", `"v"`), "/headers/x-text",
		},
		sdk.PointToolDefinition: {
			func() any { return &sdk.ToolDefinitionInput{ToolID: "bash", Origin: toolInput().Origin} },
			func() any { return &sdk.ToolDefinitionValue{Description: exotic, Parameters: odd()} },
			set("/parameters/properties", `{"command":{"type":"string"}}`), "/description",
		},
		sdk.PointToolBefore: {
			func() any { in := toolInput(); return &in }, func() any { return &sdk.ToolBeforeValue{Args: odd()} },
			set("/args/small", "2.5"), "/args/text",
		},
		sdk.PointToolAfter: {
			func() any {
				return &sdk.ToolAfterInput{ToolInput: toolInput(), Args: json.RawMessage(`{"n":12345678901234567890}`), Outcome: sdk.OutcomeError}
			},
			func() any {
				return &sdk.ToolAfterValue{Title: "ls", Output: exotic, Metadata: odd(), Attachments: []*sdk.FilePart{filePart()}}
			},
			set("/title", `"changed"`), "/output",
		},
		sdk.PointTextComplete: {
			func() any { return &sdk.TextCompleteInput{SessionID: sessionID, MessageID: messageID, PartID: "prt_1"} },
			func() any { return &sdk.TextCompleteValue{Text: exotic} }, set("/text", `"changed"`), "/text",
		},
		sdk.PointPermissionAsk: {input: func() any {
			return &sdk.PermissionRequest{
				ID: "per_1", SessionID: sessionID, Permission: "bash", Patterns: []string{"ls *", exotic}, Always: []string{}, Metadata: odd(),
				Tool: &sdk.CallRef{MessageID: messageID, CallID: callID}, Agent: "build", Args: json.RawMessage(`{"n":12345678901234567890}`),
			}
		}},
		sdk.PointTurnStop: {input: func() any {
			return &sdk.TurnStopInput{SessionID: sessionID, Message: assistantMessage(), Text: exotic, Continued: 2}
		}},
	}
}

// otherSamples are those of the session, the configuration and compaction.
func otherSamples() map[sdk.Point]sample {
	return map[sdk.Point]sample{
		sdk.PointConfig: {func() any { return &sdk.ConfigInput{Directory: "/project/" + exotic} }, func() any {
			return &sdk.Config{
				Model: "offline/offline", Username: exotic, Instructions: []string{"a.md", ""},
				Provider: map[string]sdk.ProviderConfig{"p": {Name: "P", Models: map[string]sdk.ModelConfig{"m": {Options: odd()}}}},
				Agent:    map[string]sdk.AgentConfig{"build": {Prompt: exotic, Options: odd()}},
			}
		}, set("/agent/build/prompt", `"changed"`), "/username"},
		sdk.PointEvent: {input: func() any {
			return &sdk.Event{ID: "evt_1", Type: sdk.EventPartUpdated, Properties: &sdk.PartInfo{SessionID: sessionID, Part: toolPart(), Time: 5}, Extra: unknown()}
		}},
		sdk.PointSessionStart: {input: session},
		sdk.PointSessionEnd:   {input: session},
		sdk.PointChatMessage: {
			func() any {
				return &sdk.ChatMessageInput{SessionID: sessionID, Agent: "build", Model: sdk.ModelRef{ProviderID: "p", ModelID: "m/n"}, MessageID: messageID}
			},
			func() any { return &sdk.ChatMessageValue{Message: userMessage(), Parts: parts()} },
			set("/parts/0/metadata/new", "[1]"), "/parts/0/text",
		},
		sdk.PointCommand: {
			func() any { return &sdk.CommandInput{Command: "greet", SessionID: sessionID, Arguments: exotic} },
			func() any { return &sdk.CommandValue{Parts: parts()} }, set("/parts/2/filename", `"other.png"`), "/parts/0/text",
		},
		sdk.PointShellEnv: {
			func() any { return &sdk.ShellEnvInput{Cwd: "/project", SessionID: sessionID, CallID: callID} },
			func() any { return &sdk.ShellEnvValue{Env: map[string]string{"A": exotic, "EMPTY": ""}} }, set("/env/B", `"2"`), "/env/TEXT",
		},
		sdk.PointCompacting: {
			func() any { return &sdk.CompactingInput{SessionID: sessionID} },
			func() any { return &sdk.CompactingValue{Context: []string{exotic, ""}} }, set("/context/2", `"more"`), "/prompt",
		},
		sdk.PointAutocontinue: {
			func() any {
				return &sdk.AutocontinueInput{SessionID: sessionID, Agent: "build", Model: model(), Provider: provider(), Message: userMessage(), Overflow: true}
			},
			func() any { return &sdk.AutocontinueValue{Enabled: true} }, set("/enabled", "false"), "",
		},
		sdk.PointSmallModel: {
			func() any { return &sdk.SmallModelInput{Provider: provider()} },
			func() any { return &sdk.SmallModelValue{Model: &sdk.ModelRef{ProviderID: "p", ModelID: "m"}} }, set("/model/modelID", `"tiny"`), "/model/modelID",
		},
	}
}
