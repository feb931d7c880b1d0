package process_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenonhq/tenon/plugins/process"
)

func TestRestarts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := process.NewRestarts(5, 500*time.Millisecond)
	how := errors.New("exit status 1")
	for i, want := range []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second} {
		now = now.Add(time.Second)
		r.Ended(now, how)
		if got, err := r.Wait(now); err != nil || got != want {
			t.Errorf("after end %d: wait %s, %v; want %s", i+1, got, err, want)
		}
	}
	if got, _ := r.Wait(now.Add(3 * time.Second)); got != time.Second {
		t.Errorf("three seconds later: wait %s", got)
	}
	r.Ended(now, how)
	if _, err := r.Wait(now); !errors.Is(err, process.ErrDown) || !errors.Is(err, how) {
		t.Errorf("after end 6: %v", err)
	}
	if _, err := r.Wait(now.Add(time.Hour)); !errors.Is(err, process.ErrDown) {
		t.Errorf("an hour later: %v", err)
	}

	r = process.NewRestarts(5, time.Second)
	for range 20 { // one end in five minutes does not end the restarts
		now = now.Add(5 * time.Minute)
		r.Ended(now, how)
		if got, err := r.Wait(now); err != nil || got > time.Second {
			t.Fatalf("wait %s, %v", got, err)
		}
	}
	if got := process.Backoff(time.Second, 100); got != 30*time.Second {
		t.Errorf("longest delay %s", got)
	}
	if got := process.Backoff(-1, 5); got != 0 {
		t.Errorf("without delays: %s", got)
	}
	never := process.NewRestarts(-1, 0)
	never.Ended(now, how)
	if _, err := never.Wait(now); !errors.Is(err, process.ErrDown) {
		t.Errorf("no restarts: %v", err)
	}
}

func TestHandshake(t *testing.T) {
	t.Parallel()
	cert := strings.Repeat("A", 80)
	tests := map[string]struct{ line, want string }{
		"unix":          {"1|1|unix|/run/x/s|grpc|" + cert + "\n", ""},
		"more fields":   {"1|1|unix|/run/x/s|grpc|" + cert + "|true", ""},
		"tcp":           {"1|1|tcp|127.0.0.1:4000|grpc|" + cert, ""},
		"tcp6":          {"1|1|tcp|[::1]:4000|grpc|" + cert, ""},
		"empty":         {"", "first line of output"},
		"short":         {"1|1|unix|/run/x/s|grpc", "first line of output"},
		"core":          {"2|1|unix|/run/x/s|grpc|" + cert, `version "2" of go-plugin's protocol`},
		"version":       {"1|2|unix|/run/x/s|grpc|" + cert, `version "2" of tenon's process protocol`},
		"net/rpc":       {"1|1|unix|/run/x/s|netrpc|" + cert, "this host speaks grpc"},
		"no cert":       {"1|1|unix|/run/x/s|grpc|", "no certificate"},
		"bad cert":      {"1|1|unix|/run/x/s|grpc|" + strings.Repeat("?", 80), "no certificate"},
		"every address": {"1|1|tcp|0.0.0.0:4000|grpc|" + cert, "not a loopback address"},
		"a name":        {"1|1|tcp|localhost:4000|grpc|" + cert, "not a loopback address"},
		"other folder":  {"1|1|unix|/run/x/../y/s|grpc|" + cert, "not in the directory"},
		"udp":           {"1|1|udp|127.0.0.1:4000|grpc|" + cert, "neither unix nor tcp"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := process.CheckHandshake(tt.line, "/run/x")
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func FuzzHandshake(f *testing.F) {
	f.Add("1|1|unix|/run/x/s|grpc|" + strings.Repeat("A", 80))
	f.Add("1|1|tcp|[::1%eth0]:4000|grpc|" + strings.Repeat("A", 80))
	f.Add("|||||")
	f.Fuzz(func(t *testing.T, line string) {
		if process.CheckHandshake(line, "/run/x") != nil {
			return
		}
		parts := strings.Split(strings.TrimSpace(line), "|")
		if parts[2] == "unix" && !strings.HasPrefix(parts[3], "/run/x/") && !strings.HasPrefix(parts[3], "/run/") {
			t.Errorf("accepted the address %q", parts[3])
		}
		if parts[2] != "unix" && parts[2] != "tcp" {
			t.Errorf("accepted the network %q", parts[2])
		}
	})
}

// A line of a process is an answer or a request, or gets an error.
func FuzzRequest(f *testing.F) {
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"operation","params":{"name":"store.get","request":{"key":"a"},"token":"t"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"subscription","params":{"types":["a"],"size":-1}}`,
		`{"jsonrpc":"2.0","method":"log","params":{"level":99,"message":"m\\u001b","attributes":{"a":"b","c":{}}}}`,
		`{"jsonrpc":"2.0","method":"cancel","params":{"id":18446744073709551615}}`, `{"jsonrpc":"2.0","id":3,"method":"operation","params":[]}`, `{"jsonrpc":"2.0","id":4,"method":"x"}`,
		`{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"m","data":{"refused":true,"halt":true}}}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"data":{"message":"m","status":429,"retry_after_ms":1}}}`,
		`{"jsonrpc":"2.0","id":6,"result":null}`, `{"jsonrpc":"2.0","id":6,"result":{"verdict":"deny"}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if err := process.Take(t.Context(), line); err != nil {
			t.Error(err)
		}
	})
}

// Lines are cut, counted and made text; the one that says why the process ended is kept.
func TestPrinted(t *testing.T) {
	t.Parallel()
	log := &logged{}
	w, why := process.NewPrinted(log.logger())
	write := func(text string) {
		t.Helper()
		if n, err := io.WriteString(w, text); n != len(text) || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	write("one\ntw")
	write("o\r\n\n  \n")
	write(strings.Repeat("x", 10_000) + "\nbad \xff\n")
	write("panic: boom\n\ngoroutine 1 [running]:\nlast")
	if got := why(); got != "panic: boom" {
		t.Errorf("why = %q", got)
	}
	text := log.String()
	for _, want := range []string{"line=one\n", "line=two\n", "xxx […]\"", `bad \\x{ff}`, "line=last\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the log", want)
		}
	}
	if len(text) > 8000 {
		t.Errorf("the log has %d bytes", len(text))
	}
	for i := range 1000 {
		write(fmt.Sprintln("line", i))
	}
	if got := strings.Count(log.String(), "\n"); got > 450 { // two seconds' worth, should one have passed
		t.Errorf("%d lines logged", got)
	}
}

// Lines below the level of the log neither replace others, nor is it reported that they were dropped.
func TestHiddenLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &logged{}
		warnings := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		process.PrintLog(t.Context(), warnings, append(slices.Repeat([]int32{-4}, 1000), 4, 99)...)
		w, _ := process.NewPrinted(warnings)
		for range 2 {
			if _, err := io.WriteString(w, strings.Repeat("line\n", 1000)); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Second)
		}
		text := log.String()
		if strings.Count(text, "\n") != 2 || !strings.Contains(text, "level=WARN msg=line\n") || !strings.Contains(text, "level=ERROR msg=line\n") {
			t.Errorf("log %s", text)
		}
	})
}

// The last line that Node and Rust print has no part of the error.
func TestPrintedError(t *testing.T) {
	t.Parallel()
	for want, text := range map[string]string{
		"TypeError: bad thing": "file:///p/main.mjs:1\nf()\n   ^\n\nTypeError: bad thing\n    at f (file:///p/main.mjs:1:21) {\n  code: 5\n}\n\nNode.js v20.20.2\n",
		"SyntaxError: second":  "x\n^^^^^\n\nSyntaxError: first\n\nNode.js v20\nx\n  ^\n\nSyntaxError: second\n\nNode.js v20.20.2\n",
		"no value here":        "\nthread 'main' (9453) panicked at main.rs:1:38:\nno value here\nnote: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
		"Node.js v20.20.2":     "Node.js v20.20.2\n",
		"ValueError: two":      "    raise\n    ^^^^^\nKeyError: one\n\nTraceback:\nValueError: two\n",
	} {
		w, why := process.NewPrinted(slog.New(slog.DiscardHandler))
		if _, err := io.WriteString(w, text); err != nil {
			t.Error(err)
		}
		if got := why(); got != want {
			t.Errorf("why = %q, want %q", got, want)
		}
	}
}

func FuzzPrinted(f *testing.F) {
	f.Add([]byte("a\nb"), 1)
	f.Add([]byte("\r\n\xff\x00"), 3)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		w, why := process.NewPrinted(slog.New(slog.DiscardHandler))
		for rest := data; len(rest) > 0; {
			n := min(max(piece%16, 1), len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if got := why(); len(got) > 5000*8 || strings.Contains(got, "\n") {
			t.Errorf("why = %q", got)
		}
	})
}

// gRPC of other languages is linked with TLS libraries that refuse other curves than P-256.
func TestCertificateOfTheHost(t *testing.T) {
	t.Parallel()
	_, text, err := process.ClientTLS()
	if err != nil {
		t.Fatal(err)
	}
	block, rest := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" || len(rest) != 0 {
		t.Fatalf("no certificate, and nothing else: %q", text)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, ok := cert.PublicKey.(*ecdsa.PublicKey)
	if !ok || key.Curve != elliptic.P256() || cert.SignatureAlgorithm != x509.ECDSAWithSHA256 {
		t.Errorf("key %T, signature %v, want ECDSA with P-256 and SHA-256", cert.PublicKey, cert.SignatureAlgorithm)
	}
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	options := x509.VerifyOptions{Roots: roots, DNSName: "localhost", KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := cert.Verify(options); err != nil {
		t.Errorf("a plugin that makes it the only root refuses it: %v", err)
	}
}
