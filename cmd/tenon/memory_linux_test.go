package main

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/tenonhq/tenon/cmd/tenon/internal/pages"
)

// The test is not parallel: others would use pages meanwhile.
func TestReleasePages(t *testing.T) {
	before := filePages(t)
	pages.Release()
	if after := filePages(t); after > before*3/4 { // those that are used again may be of 2 MiB
		t.Errorf("the process holds %d KiB of its file, before %d", after, before)
	}
}

// filePages returns the resident memory that is pages of files, in KiB. The system counts those of files on tmpfs as shared memory.
func filePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status") // format: proc_pid_status(5)
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, field := range []string{"RssFile:", "RssShmem:"} {
		_, rest, _ := strings.Cut(string(status), field)
		value, _, _ := strings.Cut(rest, " kB")
		n, err := strconv.Atoi(strings.TrimSpace(value))
		if err != nil {
			t.Fatal(err)
		}
		pages += n
	}
	return pages
}
