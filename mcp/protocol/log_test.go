package protocol

import (
	"os"
	"os/exec"
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

// The end of a server's output has the cause that Node prints before a stack.
func TestLastWordsOfNode(t *testing.T) {
	t.Parallel()
	command := exec.Command("node", "--input-type=module", "-e", `import "no-such-package"`)
	command.Dir = t.TempDir()
	output, err := command.CombinedOutput()
	if err == nil {
		t.Fatalf("node succeeded: %s", output)
	}
	log := NewLog(filepath.Join(t.TempDir(), "server.log"), nil)
	defer log.Close()
	_, _ = log.Write(output)
	if words := log.LastWords(); !strings.Contains(words, "Cannot find package 'no-such-package'") || strings.Contains(words, "    at ") {
		t.Errorf("last words %q of %q, want the cause without the stack", words, output)
	}
}
