package sdk

import "context"

// Bundle is a plugin made of values, the form that most plugins need. The same bundle can be compiled to a WASM module, run as a process,
// or be compiled into the host.
type Bundle struct {
	Info     Manifest
	HookList []Hook
	ToolList []Tool
	// OnStart is called once, before all other functions of the plugin. It may be nil.
	OnStart func(ctx context.Context, h Host) error
	// OnClose is called when the plugin ends, after all other calls. It may be nil.
	OnClose func(ctx context.Context) error
}

var (
	_ Plugin     = (*Bundle)(nil)
	_ Hooker     = (*Bundle)(nil)
	_ ToolSource = (*Bundle)(nil)
)

// Manifest returns Info.
func (b *Bundle) Manifest() Manifest { return b.Info }

// Start calls OnStart.
func (b *Bundle) Start(ctx context.Context, h Host) error {
	if b.OnStart == nil {
		return nil
	}
	return b.OnStart(ctx, h)
}

// Close calls OnClose.
func (b *Bundle) Close(ctx context.Context) error {
	if b.OnClose == nil {
		return nil
	}
	return b.OnClose(ctx)
}

// Hooks returns HookList.
func (b *Bundle) Hooks() []Hook { return b.HookList }

// Tools returns ToolList.
func (b *Bundle) Tools() []Tool { return b.ToolList }

// FuncTool returns a tool with this definition that runs the function.
func FuncTool(def ToolDefinition, run func(ctx context.Context, call *ToolCall) (*ToolResult, error)) Tool {
	return &funcTool{def, run}
}

type funcTool struct {
	definition ToolDefinition
	run        func(ctx context.Context, call *ToolCall) (*ToolResult, error)
}

// Definition returns the definition.
func (t *funcTool) Definition() ToolDefinition { return t.definition }

// Execute calls the function.
func (t *funcTool) Execute(ctx context.Context, call *ToolCall) (*ToolResult, error) {
	return t.run(ctx, call)
}
