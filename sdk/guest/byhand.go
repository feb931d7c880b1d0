package guest

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/tenonhq/tenon/sdk"
)

// The contract between a host and a process, for all wires; see docs/process-protocol.md.
const (
	ProtocolVersion = 1 // in the handshake
	// CookieKey and CookieValue are an environment variable of processes that the host started. They protect nothing.
	CookieKey   = "TENON_PLUGIN"
	CookieValue = "tenon.v1.Plugin"
	// MaxMessage is the maximum size of a body in either direction, in bytes.
	MaxMessage = 16 << 20
	// MaxBody is the maximum size of a request or an answer: a message has more fields.
	MaxBody = MaxMessage - 1<<10
)

// ByHand runs if a user started a plugin's program. args are the program's name and arguments. With the argument --describe it prints the
// contributions as JSON and returns true. Otherwise it explains the program and returns false, and the caller exits with an error.
func ByHand(p sdk.Plugin, args []string, stdout, stderr io.Writer) bool {
	if len(args) == 2 && args[1] == "--describe" {
		description, err := New(p).Describe()
		if err == nil {
			encoder := json.NewEncoder(stdout)
			encoder.SetIndent("", "  ")
			err = encoder.Encode(description)
		}
		if err == nil {
			return true
		}
		_, _ = fmt.Fprintf(stderr, "describe: %v\n\n", err)
		return false
	}
	m := p.Manifest()
	_, _ = fmt.Fprintf(stderr, `%s %s is a plugin of tenon, which starts it. Try it with

	tenon run --plugin %s "a prompt"

--describe prints its contributions.
`, m.Name, m.Version, args[0])
	return false
}
