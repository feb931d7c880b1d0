// Package sdk is the contract between tenon and its plugins.
//
// # Start here
//
// A plugin is a value of type Plugin. Most plugins are a Bundle: a manifest, hooks and tools.
//
//	var plugin = &sdk.Bundle{
//		Info: sdk.Manifest{Name: "no-push", Carrier: sdk.CarrierWASM},
//		HookList: []sdk.Hook{sdk.OnToolBefore(func(_ context.Context, in *sdk.ToolInput, v *sdk.ToolBeforeValue) error {
//			if command, _ := v.Args["command"].(string); in.Tool == "bash" && strings.HasPrefix(command, "git push") {
//				return sdk.Deny("pushing is left to the user")
//			}
//			return nil
//		})},
//	}
//
// "tenon plugin new" writes a complete one with its manifest and tests. The same bundle runs as a WASM module (package sdk/wasm), as a
// process (sdk/process) or compiled into the host. Package sdk/sdktest tests it without a model.
//
// # What a plugin can do
//
//   - Hooks run at the points named by the Point constants. Each On function makes one, and shows the input and the value of its point.
//     A handler reads the input and changes the value in place. A gate returns a Decision instead.
//   - Tools are called by the model: FuncTool, or a type that implements Tool. A tool that needs permission for more than its own
//     name implements ToolPreparer.
//   - Providers and wire protocols of models: ProviderSource and ProtocolSource.
//   - Agents, commands and skills: AgentSource, CommandSource and SkillSource.
//   - Operations of the host that the user granted: Host and ToolHost values implement the interfaces in ability.go and tool.go, such
//     as KeyValue, Fetcher and Questioner. Assert the one you need. Without the grant its methods return ErrNotGranted.
//
// The required interface is small. All others are optional: the host finds them by type assertion.
//
// # The wire
//
// JSON shapes, field names, identifiers and event names are opencode's, so that its clients can read tenon's sessions. Objects keep
// the fields they do not know (Extra) and unions keep the members they do not know (UnknownPart, UnknownMessage): data of a newer or an
// older version survives decoding and encoding.
//
// The package imports the standard library only and builds for GOOS=wasip1 GOARCH=wasm.
package sdk
