package manifest

import (
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/plugins/remote"
	"github.com/tenonhq/tenon/plugins/wasm"
	"github.com/tenonhq/tenon/sdk"
)

// Carriers returns the carriers of third-party plugins. The one for any executable comes last.
func Carriers() []remote.Carrier {
	return []remote.Carrier{wasm.Carrier(), process.Carrier()}
}

// CarrierOf returns the carrier with a name; the zero value for an unknown one.
func CarrierOf(name sdk.Carrier) remote.Carrier {
	for _, c := range Carriers() {
		if c.Name == name {
			return c
		}
	}
	return remote.Carrier{}
}

// CarrierOfFile returns the carrier of a plugin that is the single file.
func CarrierOfFile(file string) remote.Carrier {
	list := Carriers()
	for _, c := range list {
		if c.Extension != "" && strings.EqualFold(filepath.Ext(file), c.Extension) {
			return c
		}
	}
	return list[len(list)-1]
}
