package past

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
)

func TestPromptHistory(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "data", Name)
	add := func(h *History, texts ...string) {
		t.Helper()
		for _, text := range texts {
			if store := h.Add(text); store != nil {
				if err := store(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	open := func(want ...string) *History {
		t.Helper()
		h, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, h.Entries); diff != "" {
			t.Errorf("history (-want +have):\n%s", diff)
		}
		return h
	}
	one, two := open(), open()
	add(one, "first", "first", "two\nlines")
	add(two, "from another process", strings.Repeat("x", maxEntry+1))
	open("first", "two\nlines", "from another process")

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString("{\"time\": 1, \"te\n\x00\n")
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	add(one, "after a damaged line")
	open("first", "two\nlines", "from another process", "after a damaged line")
}

func TestPromptHistoryIsBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), Name)
	var records []record
	for i := range 2*maxEntries + 1 {
		records = append(records, record{1, fmt.Sprint("prompt ", i)})
	}
	if err := rewrite(path, records); err != nil {
		t.Fatal(err)
	}
	h, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(h.Entries); n != maxEntries || h.Entries[n-1] != fmt.Sprint("prompt ", 2*maxEntries) {
		t.Errorf("%d prompts, the last is %q", n, h.Entries[n-1])
	}
	if err := h.Add("one more")(); err != nil || len(h.Entries) != maxEntries {
		t.Errorf("%d prompts after one more: %v", len(h.Entries), err)
	}
	content, err := os.ReadFile(path)
	if err != nil || bytes.Count(content, []byte("\n")) != maxEntries+1 {
		t.Errorf("the file has %d lines: %v", bytes.Count(content, []byte("\n")), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the file has mode %v: %v", info.Mode(), err)
	}
}

func TestPromptHistoryCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := &History{path: filepath.Join(file, Name)}
	if err := h.Add("text")(); err == nil || len(h.Entries) != 1 {
		t.Errorf("error %v, %q kept", err, h.Entries)
	}
}

func FuzzReadHistory(f *testing.F) {
	f.Add([]byte("{\"time\":1,\"text\":\"a\\nb\"}\n{}\nrubbish\n{\"text\":\"\\u001b[2J\"}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		records, err := read(bytes.NewReader(in))
		if err != nil {
			return
		}
		var out []byte
		for _, r := range records {
			if strings.ContainsFunc(r.Text, terminal.Controls) {
				t.Errorf("%q controls terminals", r.Text)
			}
			out = append(out, r.line()...)
		}
		again, err := read(bytes.NewReader(out))
		if diff := cmp.Diff(records, again); diff != "" || err != nil {
			t.Errorf("not the same after a round trip: %v\n%s", err, diff)
		}
	})
}
