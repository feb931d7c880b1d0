package process

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"

	"github.com/tenonhq/tenon/sdk/process"
)

// maxHandshake is the maximum size of the handshake line, in bytes. Most of it is a certificate of less than 1 KiB.
const maxHandshake = 8 << 10

// handshake holds the data for connecting to a process.
type handshake struct {
	lines   bool
	address net.Addr // of the gRPC server
	cert    []byte   // of the server, DER
}

// parseHandshake checks the first line that a process prints. The process may listen in socketDir or on a loopback address.
func parseHandshake(line, socketDir string) (*handshake, error) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 6 {
		return nil, fmt.Errorf("its first line of output is %.100q, not the handshake of a plugin; print to stderr until the handshake (tenon's library for Node and Python redirects output once it is imported)", line)
	}
	if parts[0] != strconv.Itoa(plugin.CoreProtocolVersion) {
		return nil, fmt.Errorf("handshake: it speaks version %.20q of go-plugin's protocol, this host version %d", parts[0], plugin.CoreProtocolVersion)
	}
	if parts[1] != strconv.Itoa(process.ProtocolVersion) {
		return nil, fmt.Errorf("handshake: it speaks version %.20q of tenon's process protocol, this host version %d; build it with a matching sdk", parts[1], process.ProtocolVersion)
	}
	if speaksLines(line) {
		return &handshake{lines: true}, nil
	}
	if parts[4] != string(plugin.ProtocolGRPC) {
		return nil, fmt.Errorf("handshake: it offers the protocol %.20q on the network %.20q; this host speaks grpc, and jsonrpc on stdio", parts[4], parts[2])
	}
	address, err := parseAddress(parts[2], parts[3], socketDir)
	if err != nil {
		return nil, fmt.Errorf("handshake: %w", err)
	}
	cert, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil || len(cert) == 0 {
		return nil, errors.New("handshake: it sends no certificate, which PLUGIN_CLIENT_CERT asks for (base64 without padding, of the DER form)")
	}
	return &handshake{address: address, cert: cert}, nil
}

// lineHandshake is the handshake of a process that speaks lines, without the versions.
const lineHandshake = "|stdio||jsonrpc|"

// speaksLines reports whether the handshake offers lines.
func speaksLines(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), lineHandshake) }

func parseAddress(network, address, socketDir string) (net.Addr, error) {
	switch network {
	case "unix":
		if filepath.Dir(address) != filepath.Clean(socketDir) {
			return nil, fmt.Errorf("it listens at %.200q, which is not in the directory PLUGIN_UNIX_SOCKET_DIR names", address)
		}
		return &net.UnixAddr{Name: address, Net: network}, nil
	case "tcp":
		addr, err := netip.ParseAddrPort(address)
		if err != nil || !addr.Addr().IsLoopback() {
			return nil, fmt.Errorf("it listens at %.100q, which is not a loopback address", address)
		}
		return net.TCPAddrFromAddrPort(addr), nil
	}
	return nil, fmt.Errorf("it listens on the network %.20q, neither unix nor tcp", network)
}
