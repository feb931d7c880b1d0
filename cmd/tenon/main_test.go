package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes the test binary the command when it is called by the name tenon, and by the name administered the command on a
// machine whose administrator's file is $ADMINISTRATOR.
func TestMain(m *testing.M) {
	testscript.Main(leakless{m}, map[string]func(){
		"tenon": func() {
			code := command(managedFile())
			// See peak. The memory that wait returns for a process includes the memory of the process that started it.
			if file := os.Getenv("TENON_TEST_PEAK"); file != "" {
				if status, err := os.ReadFile("/proc/self/status"); err != nil || os.WriteFile(file, status, 0o600) != nil {
					code = 1
				}
			}
			os.Exit(code)
		},
		"administered": func() { os.Exit(command(os.Getenv("ADMINISTRATOR"))) },
		"browser":      browse,
		"form-server":  formServer,
	})
}

// browse is the user's browser: it opens the address of the command line and follows redirects.
func browse() {
	resp, err := http.Get(os.Args[1])
	if err != nil || resp.StatusCode != http.StatusOK {
		os.Exit(1)
	}
	_ = resp.Body.Close()
	os.Exit(0)
}

// leakless runs the tests and fails when they leave goroutines behind.
type leakless struct{ *testing.M }

// Run runs the tests and returns the exit code.
func (m leakless) Run() int {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} { // ignored under nohup, and in the background of a script; commands would inherit it
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	code := m.M.Run()
	if code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
