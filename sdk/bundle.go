package sdk

import "context"

// Bundle is a plugin made of values, the form that most plugins need. The same bundle can be compiled to a WASM module, run as a process,
// or be compiled into the host.
type Bundle struct {
	Info     Manifest
	HookList []Hook
	ToolList []Tool
	// AuthList, ProviderList and ProtocolList make the plugin a source of sign-in methods, providers and wire protocols.
	AuthList     []AuthMethod
	ProviderList []ProviderInfo
	ProtocolList []Protocol
	// Options is a pointer to a struct with the defaults of the plugin's options: see OptionsSchema, which makes Info.Options of it. Start
	// decodes the user's options into it, before OnStart. It may be nil.
	Options any
	// OnStart is called once, before all other functions of the plugin. It may be nil.
	OnStart func(ctx context.Context, h Host) error
	// OnClose is called when the plugin ends, after all other calls. It may be nil.
	OnClose func(ctx context.Context) error
}

var (
	_ Plugin     = (*Bundle)(nil)
	_ Hooker     = (*Bundle)(nil)
	_ ToolSource = (*Bundle)(nil)

	_ AuthSource     = (*Bundle)(nil)
	_ ProviderSource = (*Bundle)(nil)
	_ ProtocolSource = (*Bundle)(nil)
)

// Manifest returns Info, with the schema of Options.
func (b *Bundle) Manifest() Manifest {
	m := b.Info
	if b.Options != nil && m.Options == nil {
		m.Options, _ = OptionsSchema(b.Options) // Start returns the error
	}
	return m
}

// Start decodes the options and calls OnStart.
func (b *Bundle) Start(ctx context.Context, h Host) error {
	if b.Options != nil {
		if _, err := OptionsSchema(b.Options); err != nil {
			return err
		}
		if err := decodeOptions(h.Options(), b.Options); err != nil {
			return err
		}
	}
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

// AuthMethods returns AuthList.
func (b *Bundle) AuthMethods() []AuthMethod { return b.AuthList }

// Providers returns ProviderList.
func (b *Bundle) Providers() []ProviderInfo { return b.ProviderList }

// Protocols returns ProtocolList.
func (b *Bundle) Protocols() []Protocol { return b.ProtocolList }

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
