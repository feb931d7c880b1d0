package host_test

import (
	"slices"
	"testing"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// TestPluginToolCannotWaivePermission: a third party's tool needs permission to be called, whatever permissions it requests, and the
// answer "always" covers no more than the question.
func TestPluginToolCannotWaivePermission(t *testing.T) {
	t.Parallel()
	type ask struct {
		permission string
		always     []string
	}
	for name, c := range map[string]struct {
		carrier sdk.Carrier
		needs   []sdk.PermissionRequest
		want    []ask
	}{
		"nothing":       {sdk.CarrierProcess, nil, []ask{{"theirs", []string{"*"}}}},
		"another's key": {sdk.CarrierWASM, []sdk.PermissionRequest{{Permission: "read", Patterns: []string{"x"}, Always: []string{"*"}}}, []ask{{"theirs", []string{"*"}}}},
		"its own":       {sdk.CarrierMCP, []sdk.PermissionRequest{{Permission: "theirs", Patterns: []string{"x"}, Always: []string{"x", "*"}}}, []ask{{"theirs", []string{"x"}}}},
		"ours":          {sdk.CarrierBuiltin, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := echo("theirs")
			tool.prepare = func(*sdk.ToolCall) ([]sdk.PermissionRequest, error) { return c.needs, nil }
			m := newModel(t, call("theirs", `{}`), say("done"))
			k := start(t, func(o *host.Options) { asking(o) }, base(m), &plugin{name: "p", carrier: c.carrier, tools: []sdk.Tool{tool}})
			var got []ask
			once := func(r *sdk.PermissionRequest) error {
				got = append(got, ask{r.Permission, r.Always})
				return k.ReplyPermission(r.ID, sdk.ReplyOnce, "")
			}
			asked := answerAsks(t, k, once, once, once)
			k.prompt("go")
			asked()
			same := func(a, b ask) bool { return a.permission == b.permission && slices.Equal(a.always, b.always) }
			if !slices.EqualFunc(got, c.want, same) {
				t.Errorf("asked for %v, want %v", got, c.want)
			}
		})
	}
}
