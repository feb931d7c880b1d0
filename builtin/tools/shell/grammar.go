package shell

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// simple is a simple command of the grammar: words without expansion, and the files that it reads and writes by redirection.
type simple struct {
	join          string // operator before it: "", "|", "&&", "||" or ";"
	words         []word
	reads, writes []word
	piped         bool
}

// word is one word that bash passes to the program.
type word struct {
	text   string
	source string // as it is written
	glob   string // pattern for path.Match that matches at least the files that bash matches; empty: no pattern
}

// The grammar. Allow rules can match only these texts:
//
//	text    = command { ("|" | "&&" | "||" | ";" | newline) command }
//	command = word { word | redirection }
//	word    = plain characters, \c, 'text' and "text", all without expansion
//
// A word may be a pattern for file names. Redirections are >&1, >&2, and < > >> with a literal file; 1 or 2 may precede >. All other texts
// count as outside the grammar. FuzzGrammar compares the words with those that bash passes to programs.
var (
	blank    = lazyregexp.New(`^(?:[ \t]+(?:\\\n)?)*(?:#[^\n]*)?`)
	operator = lazyregexp.New(`^(?:&&|\|\||;|\||\n)`)
	redirect = lazyregexp.New(`^(?:[12]?>[>&]?|<)[ \t]*`)
	part     = lazyregexp.New(`^(?:([\w+.,:/@%^=!#\[\]*?{}~-]+)|\\([ -~])|'([^']*)'|"((?:[^"\\$` + "`" + `]|\$[ |)]|\\[^\n])*\$?)")`)
	escaped  = lazyregexp.New("\\\\([\"\\\\$`])") // within double quotes
	tilde    = lazyregexp.New(`(?:^|[=:])~`)
	joined   = lazyregexp.New("[^\\x00-\\x7f]\\\\[\"\\\\$`]") // an escape that is none for bash in locales such as zh_CN.GBK, where the backslash may belong to the character
	bracket  = lazyregexp.New(`\x00[^/]*`)                    // a [ and the text after it, which counts as matching any text
)

// The time for judging a text grows with the square of these numbers.
const (
	maxWords = 1000 // of words and redirections in a text
	maxDepth = 5000 // of slashes in a word
)

// parse returns the commands of a text. The error is the reason why a text is outside the grammar.
func parse(text string) (list []simple, err error) {
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f }) {
		return nil, fmt.Errorf("a control character or invalid UTF-8")
	}
	var now simple
	words := 0
	for rest := strings.TrimLeft(text, " \t\n"); ; {
		rest = rest[len(blank().FindString(rest)):]
		op := operator().FindString(rest)
		if op == "" && rest != "" {
			if rest, err = now.item(rest); err != nil {
				return nil, err
			}
			continue
		}
		switch {
		case len(now.words) > 0:
			now.piped = op == "|"
			if words += len(now.words) + len(now.reads) + len(now.writes); words > maxWords {
				return nil, fmt.Errorf("more than %d words", maxWords)
			}
			list, now = append(list, now), simple{join: strings.ReplaceAll(op, "\n", ";")}
		case len(now.reads)+len(now.writes) > 0 || op != "\n" && (op != "" || now.join != ";"):
			return nil, fmt.Errorf("an operator or redirection without a command")
		}
		if op == "" {
			return list, nil
		}
		rest = rest[len(op):]
	}
}

// item reads a redirection or a word and returns the text after it.
func (s *simple) item(text string) (string, error) {
	arrow := redirect().FindString(text)
	both := strings.Contains(arrow, "&")
	w, rest, err := readWord(text[len(arrow):])
	switch {
	case err != nil:
		return "", err
	case arrow == "":
		s.words = append(s.words, w)
	case both && (w.source == "1" || w.source == "2"), !both && w.text == "/dev/null":
	case both || w.glob != "" || w.text == "" || w.source[0] == '#' || strings.HasPrefix(w.text, "/dev/"):
		return "", fmt.Errorf("a redirection to something other than a literal file")
	case arrow[0] == '<':
		s.reads = append(s.reads, w)
	default:
		s.writes = append(s.writes, w)
	}
	return rest, nil
}

// readWord reads one word, which may have quoted parts.
func readWord(text string) (w word, rest string, err error) {
	var plain, pattern, quotes strings.Builder // a long word may have thousands of parts
	rest = text
	for m := part().FindStringSubmatch(rest); m != nil; m = part().FindStringSubmatch(rest) {
		if joined().MatchString(m[4]) {
			return w, "", fmt.Errorf("an escape after a non-ASCII character")
		}
		quoted := m[2] + m[3] + escaped().ReplaceAllString(m[4], "$1")
		plain.WriteString(m[1] + quoted)
		pattern.WriteString(unquotedGlob.Replace(m[1]) + escapeGlob.Replace(quoted))
		quotes.WriteString(cmp.Or(m[1], "'"))
		rest = rest[len(m[0]):]
	}
	bare := quotes.String() // one quote in place of each quoted part
	w.text, w.source = plain.String(), text[:len(text)-len(rest)]
	switch {
	case strings.Count(w.text, "/") > maxDepth:
		return w, "", fmt.Errorf("a word with more than %d slashes", maxDepth)
	case w.source == "" || rest != "" && !strings.ContainsRune(" \t\n;|&", rune(rest[0])):
		r, _ := utf8.DecodeRuneInString(rest)
		return w, "", fmt.Errorf("an expansion, or syntax with the character %q", r)
	case tilde().MatchString(bare),
		w.text != "{}" && strings.ContainsAny(bare, "{}") && (strings.ContainsAny(bare+w.text, ",*?[") || strings.Contains(w.text, "..")):
		return w, "", fmt.Errorf("~ or braces, which expand")
	case strings.ContainsAny(bare, "*?") || strings.Contains(bare, "[") && strings.Contains(w.text, "]"):
		w.glob = bracket().ReplaceAllString(pattern.String(), "*")
	}
	return w, rest, nil
}

// unquotedGlob and escapeGlob rewrite the unquoted and quoted parts of a pattern. ? is one byte or one character, as the locale says.
var (
	unquotedGlob = strings.NewReplacer("[", "\x00", "?", "*")
	escapeGlob   = strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`)
)
