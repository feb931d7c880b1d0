package config

import (
	"reflect"
	"strings"

	"github.com/tenonhq/tenon/internal/checked"
	"github.com/tenonhq/tenon/sdk"
)

// plugin reads the three forms of a plugin's entry: a path, a pair of path and options, an object.
func (c *checker) plugin(p place, n *checked.Node) (any, bool) {
	out, path := map[string]any{}, n
	switch n.Kind {
	case checked.Object:
		fields, _ := c.Struct(p, n, reflect.TypeFor[sdk.PluginConfig]())
		out, path = fields.(map[string]any), nil
	case checked.List:
		if len(n.Items) != 1 && len(n.Items) != 2 {
			return nil, c.Bad(p, "want a path and options", `write ["./plugin", {…}]`)
		}
		path = &n.Items[0]
		if len(n.Items) == 2 {
			out["options"], _ = c.Free(p, &n.Items[1])
		}
	}
	if path != nil {
		text, ok := c.Leaf(p, path, reflect.TypeFor[string]())
		if !ok {
			return nil, false
		}
		out["path"] = text
	}
	text, _ := out["path"].(string)
	if text == "" {
		return nil, c.Bad(p, "a plugin needs a path or a name", "")
	}
	out["path"] = c.pluginPath(text)
	return out, true
}

// pluginPath makes a path absolute. A text that does not look like a path is a name.
func (c *checker) pluginPath(path string) string {
	for _, prefix := range []string{"./", "../", "~/", `.\`, `..\`} {
		if strings.HasPrefix(path, prefix) {
			return c.absolute(path, c.src.dir)
		}
	}
	return path
}
