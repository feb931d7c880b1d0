package protocol

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The last line of a server may have no end. It is in the log, and not a part of the first line of the next start.
func TestUnfinishedLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	log := NewLog(path, nil)
	for _, text := range []string{"started\nlast words", "started again\n"} {
		_, _ = log.Write([]byte(text)) // never fails
		log.LastWords()
	}
	log.Close()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(content)) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		got = append(got, text)
	}
	if want := "started|last words|started again"; strings.Join(got, "|") != want {
		t.Errorf("lines %q, want %s", got, want)
	}
}
