package manifest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tenonhq/tenon/sdk"
)

// Carrier is what packages, approvals and texts need to know of a carrier of third-party plugins; how it runs them is plugins.Carrier.
type Carrier struct {
	Name sdk.Carrier // also the type of the runtime in plugin.json
	// Extension is that of a plugin that is a single file, such as ".wasm". Empty: any executable.
	Extension string
	// Module reports that the runtime names a file of the package instead of a command.
	Module bool
	// Inert reports that an unknown plugin can do nothing without grants. It is asked for its contributions before the user approves it, and
	// may contribute neither agents and commands nor a program.
	Inert bool
	// How describes for the user how a plugin runs; its command can be shown as it is. unconfined is the reason why processes have all rights; nil if they are confined.
	How   func(rt *sdk.Runtime, unconfined error) string
	check func(r *reader, v *validator, where string, rt *sdk.Runtime)
}

// Carriers returns the carriers of third-party plugins. The one for any executable comes last.
func Carriers() []Carrier {
	return []Carrier{
		{Name: sdk.CarrierWASM, Extension: ".wasm", Module: true, Inert: true, How: howModule, check: (*reader).wasm},
		{Name: sdk.CarrierProcess, How: howProcess, check: (*reader).process},
	}
}

// CarrierOf returns the carrier with the name; the zero value if there is none.
func CarrierOf(name sdk.Carrier) Carrier {
	for _, c := range Carriers() {
		if c.Name == name {
			return c
		}
	}
	return Carrier{}
}

// CarrierOfFile returns the carrier of a plugin that is the single file.
func CarrierOfFile(file string) Carrier {
	list := Carriers()
	for _, c := range list {
		if c.Extension != "" && strings.EqualFold(filepath.Ext(file), c.Extension) {
			return c
		}
	}
	return list[len(list)-1]
}

func howModule(rt *sdk.Runtime, _ error) string {
	memory := rt.MemoryMB
	memory = cmp.Or(memory, sdk.DefaultWASMMemoryMB)
	return fmt.Sprintf("a WASM module: it reaches only what is listed here; at most %d MiB of memory per instance", memory)
}

func howProcess(rt *sdk.Runtime, unconfined error) string {
	how := "a confined process: of your files it reaches only its package, its data and what is listed here; the network is open to it"
	if unconfined != nil {
		how = "a process with your rights, NOT confined (" + unconfined.Error() + "): it can read and change everything that you can"
	}
	if len(rt.Command) > 0 {
		how += "; starts " + strings.Join(rt.Command, " ")
	}
	return how
}
