// Command fault is an executable that fails as a plugin, in the way that its argument names. It is started in place of a
// process plugin or of an MCP server.
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"time"
)

// dripTime is how long a slow writer waits between two bytes.
const dripTime = 50 * time.Millisecond

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("which fault?"))
	}
	switch os.Args[1] {
	case "silent": // says nothing and reads nothing
		select {}
	case "exit": // ends before it said anything
		fail(fmt.Errorf("this plugin does not work"))
	case "garbage": // writes an unknown message
		fmt.Println("\x00\xff{]| not a handshake |\x1b[31m")
		select {}
	case "flood": // one line without end
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("flood "), 10_000)); err != nil {
				return
			}
		}
	case "drip": // a line of which one byte comes after the other
		for {
			fmt.Print("1")
			time.Sleep(dripTime)
		}
	case "deaf peer": // can be connected to, and then says nothing
		serve(func(net.Conn) { select {} })
	case "garbage peer":
		serve(func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 418 no\r\n\r\n\x00\xff{]") })
	case "dripping peer":
		serve(func(c net.Conn) {
			for {
				if _, err := c.Write([]byte{22}); err != nil {
					return
				}
				time.Sleep(dripTime)
			}
		})
	case "deaf lines": // a line peer that never answers
		serveLines(func(*os.File) { select {} })
	case "garbage lines":
		serveLines(func(f *os.File) { _, _ = f.WriteString("\x00\xff{]\n") })
	case "endless line":
		serveLines(func(f *os.File) {
			for {
				if _, err := f.Write(bytes.Repeat([]byte("flood "), 10_000)); err != nil {
					return
				}
			}
		})
	}
	fail(fmt.Errorf("fault %q not found", os.Args[1]))
}

// serve says hello as a plugin does, and treats who connects to something.
func serve(treat func(net.Conn)) {
	certificate, err := certify()
	if err != nil {
		fail(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fail(err)
	}
	fmt.Printf("1|1|tcp|%s|grpc|%s\n", l.Addr(), base64.RawStdEncoding.EncodeToString(certificate))
	for {
		c, err := l.Accept()
		if err != nil {
			fail(err)
		}
		treat(c)
	}
}

// serveLines prints the handshake of lines, and answers with something else.
func serveLines(treat func(*os.File)) {
	fmt.Println("1|1|stdio||jsonrpc|")
	treat(os.NewFile(3, "lines"))
	select {}
}

func certify() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour)}
	return x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
