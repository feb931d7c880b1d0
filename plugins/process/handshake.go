package process

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"

	"github.com/tenonhq/tenon/sdk/process"
)

// maxHandshake is the maximum size of the handshake line, in bytes. Most of it is a certificate of less than 1 KiB.
const maxHandshake = 8 << 10

// checkHandshake checks the first line that a process prints, before go-plugin uses it. The process may listen in socketDir or on a
// loopback address.
func checkHandshake(line, socketDir string) error {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 6 {
		return fmt.Errorf("its first line of output is %.100q, where the handshake of a plugin should be; a plugin must print nothing before it", line)
	}
	if parts[0] != strconv.Itoa(plugin.CoreProtocolVersion) {
		return fmt.Errorf("handshake: it speaks version %.20q of go-plugin's protocol, this host version %d", parts[0], plugin.CoreProtocolVersion)
	}
	if parts[1] != strconv.Itoa(process.ProtocolVersion) {
		return fmt.Errorf("handshake: it speaks version %.20q of tenon's process protocol, this host version %d; build it with a matching sdk", parts[1], process.ProtocolVersion)
	}
	if speaksLines(line) {
		return nil
	}
	if parts[4] != string(plugin.ProtocolGRPC) {
		return fmt.Errorf("handshake: it offers the protocol %.20q on the network %.20q; this host speaks grpc, and jsonrpc on stdio", parts[4], parts[2])
	}
	if err := checkAddress(parts[2], parts[3], socketDir); err != nil {
		return fmt.Errorf("handshake: %w", err)
	}
	if _, err := base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(parts[5]) <= 50 {
		return errors.New("handshake: it sends no certificate, which PLUGIN_CLIENT_CERT asks for (base64 without padding, of the DER form)")
	}
	return nil
}

// lineHandshake is the handshake of a process that speaks lines, without the versions.
const lineHandshake = "|stdio||jsonrpc|"

// speaksLines reports whether the handshake offers lines.
func speaksLines(line string) bool { return strings.HasSuffix(strings.TrimSpace(line), lineHandshake) }

func checkAddress(network, address, socketDir string) error {
	switch network {
	case "unix":
		if filepath.Dir(address) != filepath.Clean(socketDir) {
			return fmt.Errorf("it listens at %.200q, which is not in the directory PLUGIN_UNIX_SOCKET_DIR names", address)
		}
		return nil
	case "tcp":
		if addr, err := netip.ParseAddrPort(address); err != nil || !addr.Addr().IsLoopback() {
			return fmt.Errorf("it listens at %.100q, which is not a loopback address", address)
		}
		return nil
	}
	return fmt.Errorf("it listens on the network %.20q, neither unix nor tcp", network)
}
