package wire

import (
	"net"
	"syscall"
	"testing"
)

// TestKeepAlive: the system notices within 45 seconds that a connection of HTTP/1.1, which has no pings, died silently. With the defaults of
// net it takes three minutes.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := NewTransport().DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	option := func(name int) (n int) {
		if err := raw.Control(func(fd uintptr) { n, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, name) }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if seconds := option(syscall.TCP_KEEPIDLE) + option(syscall.TCP_KEEPINTVL)*option(syscall.TCP_KEEPCNT); seconds > 45 {
		t.Errorf("a dead connection is noticed after %d seconds", seconds)
	}
}
