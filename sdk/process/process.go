// Package process makes a plugin a process:
//
//	func main() { process.Serve(&sdk.Bundle{…}) }
//
// The same handlers compile to WASM with package sdk/wasm. In addition, a process can contribute providers and wire
// protocols, to keep running between calls, and to follow the host's events: the sdk.Host it gets is an sdk.EventSource too.
//
// A handler that panics fails its call. Failures that the Go runtime does not survive (running out of stack or memory, a panic in a goroutine
// of the plugin's own) end the process; the host reports it and starts it again.
package process

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/guest"
	"github.com/tenonhq/tenon/sdk/process/tenonv1"
)

// Constants of the handshake between host and plugin.
const (
	// ProtocolVersion is the version of the contract; part of the handshake.
	ProtocolVersion = guest.ProtocolVersion
	// CookieKey and CookieValue are in the environment of a process that the host started. They keep people from starting a
	// plugin by hand and protect nothing.
	CookieKey   = guest.CookieKey
	CookieValue = guest.CookieValue
	// ServiceName is what the plugin is called inside of go-plugin; nothing of it goes over the wire.
	ServiceName = "tenon"
	// MaxMessage bounds a message in either direction, in bytes.
	MaxMessage = guest.MaxMessage
)

// maxStack bounds the stack of a goroutine. Go's own bound of 1 GiB makes an endless recursion last for seconds.
const maxStack = 128 << 20

// Serve runs the plugin until the host ends it or is gone. It is all that main does: what Serve prints before the host connects to
// it would be taken for the handshake, so print nothing.
//
// Started by hand, with the argument --describe, it prints what the plugin contributes as JSON. Without it, it says what the program
// is, and exits with status 1.
func Serve(p sdk.Plugin) {
	if os.Getenv(CookieKey) != CookieValue && guest.ByHand(p, os.Args, os.Stdout, os.Stderr) {
		return
	}
	debug.SetMaxStack(maxStack)
	s := newServer(p)
	go func() {
		// The host holds the other end of the standard input, and never writes to it.
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.disconnect()
	}()
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: ProtocolVersion, MagicCookieKey: CookieKey, MagicCookieValue: CookieValue},
		Plugins:         plugin.PluginSet{ServiceName: registrar{server: s}},
		GRPCServer:      s.listen,
		Logger:          hclog.NewNullLogger(),
	})
	s.guest.CloseAlone(s.link.logger)
}

// registrar tells go-plugin what to serve.
type registrar struct {
	plugin.NetRPCUnsupportedPlugin
	server *server
}

// GRPCServer registers the plugin.
func (r registrar) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	tenonv1.RegisterPluginServer(s, r.server)
	return nil
}

// GRPCClient is not used: a plugin asks no plugin.
func (registrar) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.ErrUnsupported
}
