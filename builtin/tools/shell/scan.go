package shell

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scan is what a text would do, as far as it can be told without running it.
type scan struct {
	commands []command
	touches  []touch
	writes   []write
	plain    []string // the commands again, without quotes, directories and assignments
}

// touch is a path that a text names.
type touch struct {
	path    string // absolute, not clean
	certain bool   // it is a path; otherwise it is a word that may be one
}

// scanText reads a text that the shell would run in dir. A text that cannot be read is one command.
func scanText(text, dir, home string, shell shell) scan {
	var s scan
	seen := map[touch]bool{}
	report := func(path string, certain bool) {
		if t := (touch{path, certain}); !seen[t] {
			seen[t] = true
			s.touches = append(s.touches, t)
		}
	}
	whole := strings.TrimSpace(text)
	var file *syntax.File
	err := errNotParsed
	if shell.parsed {
		file, err = parse(text, shell.lang)
	}
	if err != nil {
		scanTokens(text, dir, home, report)
		s.commands = []command{{text: whole, always: exact(whole)}}
		if strings.Trim(whole, plainText) != "" || shell.parsed {
			s.commands = append(s.commands, command{text: unjudgedPrefix + whole, always: exact(unjudgedPrefix + whole)})
		}
		return s
	}
	s.commands = commands(text, file)
	trace(file, text, shell.lang, dir, home, &s, report)
	if len(s.commands) == 0 && len(s.touches) == 0 {
		s.commands = []command{{text: whole, always: exact(whole)}} // a comment, or a test without a command
	}
	return s
}

// plainText are characters that have no meaning in any shell.
const plainText = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _-./:\\,+"

// errNotParsed means that the language of the shell is not one that is read here.
var errNotParsed = errors.New("not parsed")

// scanTokens reports everything in a text of an unknown language that looks like a path.
func scanTokens(text, dir, home string, report func(path string, certain bool)) {
	for _, token := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`();|&<>=,{}", r) }) {
		if strings.Contains(token, "://") {
			continue
		}
		report(from(dir, expandHome(token, home)), false)
	}
}

// plausible reports whether the word can be meant as a path. A word of which neither the file nor its
// directory is there, such as the pattern of a search, is none.
func (t touch) plausible() bool {
	if t.certain {
		return true
	}
	if strings.ContainsRune(t.path, '\n') || len(t.path) > 4096 {
		return false
	}
	path := filepath.Clean(t.path)
	parent := filepath.Dir(path)
	if parent == path {
		return false
	}
	if _, err := os.Lstat(path); err == nil {
		return true
	}
	if filepath.Dir(parent) == parent {
		return false
	}
	_, err := os.Lstat(parent)
	return err == nil
}
