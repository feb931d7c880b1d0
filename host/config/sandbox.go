package config

import (
	"reflect"

	"github.com/tailscale/hujson"

	"github.com/tenonhq/tenon/sdk"
)

// sandbox reads what confined commands may reach: an object, or true or false for its switch alone.
func (c *checker) sandbox(p place, v hujson.Value) (any, bool) {
	if kind := v.Value.Kind(); kind != 't' && kind != 'f' {
		return c.fieldsOf(p, v, reflect.TypeFor[sdk.SandboxConfig]())
	}
	c.set(p.member("enabled", "enabled", p.offset))
	return map[string]any{"enabled": v.Value.(hujson.Literal).Bool()}, true
}
