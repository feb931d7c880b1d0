package permission

import (
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/tenonhq/tenon/internal/projectfs"
)

// wildcard is a pattern in normal form.
type wildcard struct {
	pattern string
	prefix  string // all texts that match begin with it
	literal bool   // no wildcard at all
	// server and path are the two parts of an address pattern such as https://*.example.com/*. A wildcard in the server must not
	// match a /, or the pattern would allow https://evil/x.example.com/. The server is in lower case. path is nil for other patterns.
	server string
	path   *wildcard
}

func compilePattern(pattern string) wildcard {
	w := wildcard{pattern: normal(pattern)}
	w.prefix, w.literal = w.pattern, true
	if i := strings.IndexAny(w.pattern, "*?"); i >= 0 {
		w.prefix, w.literal = strings.TrimSuffix(w.pattern[:i], " "), false
	}
	if end := serverEnd(w.pattern, "/"); end >= 0 && isAddress(w.pattern) {
		path := w.pattern[end:]
		if path == "" && strings.HasSuffix(w.pattern, "*") { // it matches all paths, as in https://*
			path = "*"
		}
		compiled := compilePattern(path)
		w.server, w.path = strings.ToLower(w.pattern[:end]), &compiled
	}
	return w
}

// anything reports whether the pattern is *.
func (w *wildcard) anything() bool { return w.pattern == "*" }

// serverEnd returns where the server of an address ends, at one of the characters or at the end of the text; -1 for other texts.
func serverEnd(s, stops string) int {
	begin := strings.Index(s, "://")
	if begin < 0 {
		return -1
	}
	begin += len("://")
	if end := strings.IndexAny(s[begin:], stops); end >= 0 {
		return begin + end
	}
	return len(s)
}

// isAddress reports whether a pattern begins with the scheme of an address, or wildcards for it. A command such as
// "curl https://*" does not.
func isAddress(pattern string) bool {
	scheme, _, _ := strings.Cut(pattern, "://")
	return scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.*?") == ""
}

// match reports whether text, in normal form, matches. A tail " *" is optional. In an address, the case of the server does not matter, and no path
// is the path /.
func (w *wildcard) match(text string) bool {
	if w.path != nil {
		end := serverEnd(text, "/?#") // in a pattern, ? is a wildcard
		return end >= 0 && matches(w.server, strings.ToLower(text[:end])) && (w.path.match(text[end:]) || w.path.pattern == "" && text[end:] == "/")
	}
	if !strings.HasPrefix(text, w.prefix) {
		return false
	}
	short, tail := strings.CutSuffix(w.pattern, " *")
	return matches(w.pattern, text) || tail && matches(short, text)
}

// matches backtracks to one point only: if the pattern after a * does not fit, the * takes one more character. An
// earlier * never needs to take more than it did, so the cost is at most the product of the lengths.
func matches(pattern, text string) bool {
	p, t := 0, 0
	star, from := -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, t
			p++
		case p < len(pattern) && pattern[p] == '?':
			_, size := utf8.DecodeRuneInString(text[t:])
			p, t = p+1, t+size
		case p < len(pattern) && pattern[p] == text[t]:
			p, t = p+1, t+1
		case star >= 0:
			_, size := utf8.DecodeRuneInString(text[from:])
			from += size
			p, t = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// normal returns the form in which patterns and texts are compared. Where one file usually has several spellings, a rule against secret.txt must
// also cover SECRET.TXT.
func normal(s string) string {
	switch runtime.GOOS {
	case "darwin":
		s = projectfs.Fold(s)
	case "windows":
		s = strings.ReplaceAll(strings.ToLower(s), "ς", "σ") // one letter for NTFS
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	return strings.ReplaceAll(s, `\`, "/")
}

// expandHome replaces ~ and $HOME at the start of a pattern.
func expandHome(pattern, home string) string {
	if home == "" {
		return pattern
	}
	for _, prefix := range []string{"~", "$HOME"} {
		rest, ok := strings.CutPrefix(pattern, prefix)
		if ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
			return home + rest
		}
	}
	return pattern
}
