package config

import (
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/sdk"
)

// plugin reads the three forms of a plugin's entry: a path, a pair of path and options, an object.
func (c *checker) plugin(p place, v hujson.Value) (any, bool) {
	out := map[string]any{}
	switch value := v.Value.(type) {
	case *hujson.Object:
		fields, _ := c.fieldsOf(p, v, reflect.TypeFor[sdk.PluginConfig]())
		out = fields.(map[string]any)
	case *hujson.Array:
		if n := len(value.Elements); n != 1 && n != 2 {
			return nil, c.bad(p, "want a path and options", `write ["./plugin", {…}]`)
		}
		path, ok := c.leaf(p, value.Elements[0], reflect.TypeFor[string]())
		if !ok {
			return nil, false
		}
		out["path"] = path
		if len(value.Elements) == 2 {
			options, ok := c.free(p, value.Elements[1])
			if !ok {
				return nil, false
			}
			out["options"] = options
		}
	default:
		path, ok := c.leaf(p, v, reflect.TypeFor[string]())
		if !ok {
			return nil, false
		}
		out["path"] = path
	}
	path, _ := out["path"].(string)
	if path == "" {
		return nil, c.bad(p, "a plugin needs a path or a name", "")
	}
	out["path"] = c.pluginPath(path)
	return out, true
}

// pluginPath makes a path absolute. What does not look like one is a name.
func (c *checker) pluginPath(path string) string {
	for _, prefix := range []string{"./", "../", "~/", `.\`, `..\`} {
		if strings.HasPrefix(path, prefix) {
			return c.absolute(path, c.src.dir)
		}
	}
	return path
}
