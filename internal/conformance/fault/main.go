// Command fault is a plugin that fails in the way that its argument names. Tests start it as a process plugin or an MCP server.
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

// dripTime is the pause between two bytes of a slow writer.
const dripTime = 50 * time.Millisecond

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("which fault?"))
	}
	switch os.Args[1] {
	case "silent": // neither writes nor reads
		select {}
	case "exit": // exits without a handshake
		fail(fmt.Errorf("this plugin does not work"))
	case "garbage": // writes an unknown message
		fmt.Println("\x00\xff{]| not a handshake |\x1b[31m")
		select {}
	case "flood": // writes an endless line
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("flood "), 10_000)); err != nil {
				return
			}
		}
	case "drip": // writes a line byte by byte
		for {
			fmt.Print("1")
			time.Sleep(dripTime)
		}
	case "deaf peer": // accepts a connection and never answers
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

// serve prints a handshake and calls treat for each connection.
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

// serveLines prints the handshake for lines and calls treat with the connection.
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
