package conformance_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"time"
)

// dripTime is the pause between two bytes of a slow writer.
const dripTime = 50 * time.Millisecond

// runFault fails in the way that the argument names. Tests start it as a process plugin, a command hook or an MCP server. It returns an error for
// faults that end the process.
func runFault(fault string) error {
	switch fault {
	case "silent": // neither writes nor reads
		select {}
	case "exit": // exits without a handshake
		return errors.New("this plugin does not work")
	case "garbage": // writes an unknown message
		fmt.Println("\x00\xff{]| not a handshake |\x1b[31m")
		select {}
	case "flood": // writes an endless line
		for {
			if _, err := os.Stdout.Write(bytes.Repeat([]byte("flood "), 10_000)); err != nil {
				return nil
			}
		}
	case "drip": // writes a line byte by byte
		for {
			fmt.Print("1")
			<-time.After(dripTime)
		}
	case "deaf peer": // accepts a connection and never answers
		return servePeer(func(net.Conn) { select {} })
	case "garbage peer":
		return servePeer(func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 418 no\r\n\r\n\x00\xff{]") })
	case "dripping peer":
		return servePeer(func(c net.Conn) {
			for {
				if _, err := c.Write([]byte{22}); err != nil {
					return
				}
				<-time.After(dripTime)
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
	return fmt.Errorf("fault %q not found", fault)
}

// servePeer prints a handshake and calls treat for each connection.
func servePeer(treat func(net.Conn)) error {
	certificate, err := certify()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("1|1|tcp|%s|grpc|%s\n", l.Addr(), base64.RawStdEncoding.EncodeToString(certificate))
	for {
		c, err := l.Accept()
		if err != nil {
			return err
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
