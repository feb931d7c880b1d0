package tui

import (
	"os"
	"strings"
	"testing"
)

// Input that a slow connection splits is read in whole characters and sequences. Only the keys esc and alt+[ look like the beginning of one.
func TestInputIsReadInWholeSequences(t *testing.T) {
	t.Parallel()
	tokens := []string{"a", "日", "\u00e9", "\x1b[<0;10;20M", "\x1b[A", "b", pasteStart, "本", "\x1b", "c", "\n", pasteEnd, "d"}
	all, wholes := strings.Join(tokens, ""), map[int]bool{0: true}
	for i := range tokens {
		wholes[len(strings.Join(tokens[:i+1], ""))] = true
	}
	pasted := strings.Index(all, pasteStart) + len(pasteStart)
	for cut := 1; cut < len(all); cut++ {
		in, keyboard, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		var read []int // total after each part
		whole, have := &wholeInput{File: in}, ""
		for _, part := range []string{all[:cut], all[cut:]} {
			buffer := make([]byte, 4096)
			_, problem := keyboard.WriteString(part)
			n, err := whole.Read(buffer)
			if problem != nil || err != nil {
				t.Fatal(problem, err)
			}
			have += string(buffer[:n])
			read = append(read, len(have))
		}
		key := cut < pasted && (strings.HasSuffix(all[:cut], "\x1b") || strings.HasSuffix(all[:cut], "\x1b["))
		if have != all || !wholes[read[0]] && !key {
			t.Errorf("cut at %d: read %q, first %q", cut, have, have[:read[0]])
		}
		in.Close()
		keyboard.Close()
	}
}

// The escape character that begins a paste is read at once, because it may be the key. The end of the paste is read whole nevertheless: bubbletea would
// wait for it forever.
func TestPasteEndsAfterItsBeginningWasSplit(t *testing.T) {
	t.Parallel()
	for cut := 1; cut < len(pasteStart); cut++ {
		in, keyboard, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		whole, last := &wholeInput{File: in}, ""
		for _, part := range []string{pasteStart[:1], pasteStart[1:cut], pasteStart[cut:] + "a\x1b", pasteEnd[1:]} {
			if part == "" {
				continue
			}
			buffer := make([]byte, 4096)
			_, problem := keyboard.WriteString(part)
			n, err := whole.Read(buffer)
			if problem != nil || err != nil {
				t.Fatal(problem, err)
			}
			last = string(buffer[:n])
		}
		if last != pasteEnd {
			t.Errorf("beginning cut at %d: read %q, want the whole end", cut, last)
		}
		in.Close()
		keyboard.Close()
	}
}
