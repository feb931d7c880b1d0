// Package process runs a plugin as a process that uses gRPC:
//
//	func main() { process.Serve(&sdk.Bundle{…}) }
//
// The same handlers compile to WASM with package sdk/wasm. A process can also keep running between calls, contribute agents and commands, and
// follow the host's events: its sdk.Host is an sdk.EventSource.
//
// A panic of a handler fails its call. Failures that the Go runtime does not survive, such as a stack overflow, lack of memory or a panic in
// another goroutine, end the process. The host then reports it and restarts the process.
package process

import (
	"os"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
)

// Constants of the handshake between host and plugin.
const (
	// ProtocolVersion is the version of the contract; part of the handshake.
	ProtocolVersion = guest.ProtocolVersion
	// CookieKey and CookieValue are in the environment of a process that the host started. They distinguish it from one that a user started,
	// and protect nothing.
	CookieKey   = guest.CookieKey
	CookieValue = guest.CookieValue
	// ServiceName is the name of the plugin for go-plugin. It is not sent.
	ServiceName = "tenon"
	// MaxMessage bounds a message in either direction, in bytes.
	MaxMessage = guest.MaxMessage
)

// maxStack bounds the stack of a goroutine. Go's own bound of 1 GiB makes an endless recursion last for seconds.
const maxStack = 128 << 20

// Serve runs the plugin until the host stops it or exits. Call it in main, and print nothing before: the first line of output is the handshake.
//
// If a user starts the program, Serve prints the plugin's contributions as JSON with the argument --describe. Without it, Serve explains the
// program and exits with status 1.
func Serve(p sdk.Plugin) {
	if os.Getenv(CookieKey) != CookieValue && guest.ByHand(p, os.Args, os.Stdout, os.Stderr) {
		return
	}
	debug.SetMaxStack(maxStack)
	s := &server{guest: guest.New(p), link: newLink()}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: ProtocolVersion, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue},
		Plugins:         plugin.PluginSet{ServiceName: s},
		GRPCServer:      s.listen,
		Logger:          hclog.NewNullLogger(),
	})
	s.guest.CloseAlone(s.link.log)
}
