package tui

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// However a connection splits the input, all of it is read, in whole characters, and pastes keep their ends.
func FuzzInput(f *testing.F) {
	f.Add([]byte("a日\x1b[<0;10;20Mb\x1b[200~本\x1b\nc\x1b[201~d"), []byte{3, 1, 7, 2})
	f.Add([]byte("\x1b[200~\x1b[200~\x1b[201\x1b[201~\x1b[201~\xe6\x97"), []byte{1})
	f.Add([]byte("\x1b["+strings.Repeat("0;", 80)+"m\xff\xf0\x9f\x98\x80"), []byte{10, 90})
	f.Fuzz(func(t *testing.T, input, sizes []byte) {
		in, keyboard, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer keyboard.Close()
		whole, buffer, have := &wholeInput{File: in}, make([]byte, 4096), ""
		for rest := input; len(rest) > 0; {
			size := len(rest)
			if len(sizes) > 0 {
				size, sizes = min(size, 1+int(sizes[0])), sizes[1:]
			}
			size = min(size, len(buffer)/2)
			if _, err := keyboard.Write(rest[:size]); err != nil {
				t.Fatal(err)
			}
			rest = rest[size:]
			n, err := whole.Read(buffer)
			if err != nil || len(whole.rest) > 128 || len(whole.before) > len(pasteStart) {
				t.Fatalf("%v, %d and %d bytes are kept", err, len(whole.rest), len(whole.before))
			}
			read := buffer[:n]
			have += string(read)
			if have+string(whole.rest) != string(input[:len(input)-len(rest)]) {
				t.Fatalf("read %q, then %q, of %q", have, whole.rest, input)
			}
			if utf8.Valid(input) && !utf8.Valid(read) {
				t.Errorf("read a part of a character: %q", read)
			}
			if inside := strings.LastIndex(have, pasteStart) > strings.LastIndex(have, pasteEnd); inside != whole.pasting && len(have)+len(whole.rest) == len(input) {
				t.Errorf("after %q, then %q: in a paste %v", have, whole.rest, whole.pasting)
			}
			if whole.pasting && len(whole.rest) == 0 {
				for n := 1; n < len(pasteEnd); n++ {
					if bytes.HasSuffix(read, []byte(pasteEnd[:n])) {
						t.Errorf("read %q, a part of the end of a paste", read)
					}
				}
			}
		}
	})
}
