//go:build unix

package shell_test

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/tools/shell"
)

// printer writes the words that it is called with, itself among them, to its own file, with a NUL before each but the first.
const printer = `#!/bin/sh
exec >"$WORDS.$$"
printf %s "${0##*/}"
for w in "$@"; do printf '\0%s' "$w"; done
`

// runWords returns the words that bash passes on for a text, command by command; ok is false if bash does not run to its end.
func runWords(t testing.TB, text string, list [][]string) (commands []string, ok bool) {
	t.Helper()
	root := t.TempDir()
	bin, dir, out := filepath.Join(root, "bin"), filepath.Join(root, "dir"), filepath.Join(root, "words")
	for _, d := range []string{bin, dir} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, words := range list {
		name := words[0]
		if name == "" || strings.ContainsAny(name, "/\x00\n") || name == "." || name == ".." || len(name) > 200 {
			return nil, false // nothing that could be put there
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte(printer), 0o755); err != nil {
			return nil, false
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-f", "-c", text)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + bin, "WORDS=" + out, "LC_ALL=C.UTF-8"}
	if err := cmd.Run(); ctx.Err() != nil || err != nil && cmd.ProcessState == nil {
		t.Fatalf("bash -c %q: %v", text, err)
	}
	files, err := filepath.Glob(out + ".*")
	for _, file := range files {
		var data []byte
		data, err = os.ReadFile(file)
		commands = append(commands, string(data))
	}
	if err != nil {
		t.Fatal(err)
	}
	return commands, true
}

// checkWords checks the rule of the grammar: bash runs an accepted text as exactly these words.
func checkWords(t *testing.T, text string) {
	list, err := shell.Words(text)
	if err != nil {
		return
	}
	for _, words := range list {
		if shell.IsBuiltin(words[0]) {
			return // never runs a program by that name
		}
	}
	commands, ok := runWords(t, text, list)
	if !ok {
		return
	}
	want, got := map[string]int{}, map[string]int{}
	for _, words := range list {
		want[strings.Join(words, "\x00")]++
	}
	for _, c := range commands {
		if got[c]++; got[c] > want[c] {
			t.Fatalf("%q runs %q, understood were %q", text, c, list)
		}
	}
	// A file that cannot be opened, and || after a success, leave commands out.
	if strings.ContainsAny(text, "<>") || strings.Contains(text, "||") {
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%q: words (-understood +run):\n%s", text, diff)
	}
}

// FuzzGrammar compares the words of texts that the grammar accepts with those that bash passes on.
func FuzzGrammar(f *testing.F) {
	for _, text := range []string{
		"p a 'b c' \"d e\" f\\ g", "p a | q b && r c; s d\nt e", "p \\\n a", "p # comment \\\nq", "p #\\\n", "p a#b", "p \"$\" \"a$ b\" \"$|\"", "p '\"' \"'\"", "p \"a\\\\b\\\"c\\$d\\`e\\f\"",
		"p {} {a} a{1}b @{u}", "p a=b =c x==y", "p ~a b~ c:~", "p a=~", "p ! [ ] ^ % + , : @", "p <(q)", "p 2>&1 >/dev/null", "p 2>&1a", "p 2>/dev/null|q", "p>f", "p \"a\nb\"", "p 'a\\\nb'", "p é \"é\"",
		"p a{b,c}", "p {1..3}", "p $x", "p `q`", "p &", "p |& q", "p ;; q", "p && && q", "&& p", "p ||\n\n q", "p;", "p\n\n", "p \\", "p \"", "if p; then q; fi", "p (q)", "\\p \\a \\\\", "p \\#a #b", "p ''", "'p' a",
		"p ''~ '='~ \\~", "p 12>f", "p < /dev/null", "p \t\ta \\\n\\\n b", "p [a] [ a ]", "p -- -x", "p \"a$\"b\"c\"", "p \"$\"\"q\"", "p a\\\nb", "\tp", "p\\ q", "p;#x\nq", "p|#x\nq",
	} {
		f.Add(text)
	}
	for seed := range uint64(80) {
		f.Add(randomText(rand.New(rand.NewPCG(seed, 3))))
	}
	f.Fuzz(checkWords)
}

// randomText joins pieces that mean something to a shell.
func randomText(r *rand.Rand) string {
	pieces := []string{
		"p", "q", " ", " ", " ", "'", "\"", "\\", "\n", ";", "|", "&&", "||", "#", "$", "`", "a", "b", "~", "{", "}", ",", "..", "=", ":", "<", ">", "2>&1", "/dev/null", "!", "(", ")", "*", "?", "[", "]", "\t", "é", "-",
		"$x", "'a b'", "\"c d\"", "\\\n", "&", "%", "^", "1", "2",
	}
	var b strings.Builder
	b.WriteString("p ")
	for range 3 + r.IntN(14) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}
