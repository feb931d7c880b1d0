package ignore

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxGlob is the maximum length of a glob in bytes, that of a path in Linux. A longer one matches nothing.
const maxGlob = 4096

// translate returns a regular expression with the meaning that a glob has in git's wildmatch.c in pathname mode: * and ? do not match slashes,
// ** between slashes does. It matches texts that latin1 returns. A malformed glob, which matches nothing, has none.
func translate(glob string) *regexp.Regexp {
	if len(glob) > maxGlob {
		return nil
	}
	var b strings.Builder
	for rest := glob; rest != ""; {
		c, after, ok := letter(rest)
		switch {
		case rest[0] == '*':
			slash := rest == glob || glob[len(glob)-len(rest)-1] == '/' // before it
			after = strings.TrimLeft(rest, "*")
			deep := slash && len(rest)-len(after) > 1
			switch {
			case deep && strings.HasPrefix(after, "/"): // the slashes around ** may be the same one: a/**/b matches a/b
				b.WriteString(`(?:.*/)?`)
				after = after[1:]
			case deep && (after == "" || strings.HasPrefix(after, `\/`)):
				b.WriteString(`.*`)
			default:
				b.WriteString(`[^/]*`)
			}
		case rest[0] == '?':
			b.WriteString(`[^/]`)
		case rest[0] == '[':
			var set string
			set, after, ok = bracket(rest)
			b.WriteString(set)
		default:
			fmt.Fprintf(&b, `\x{%x}`, c)
		}
		if !ok {
			return nil
		}
		rest = after
	}
	re, err := regexp.Compile(`\A(?s:` + b.String() + `)\z`)
	if err != nil {
		return nil
	}
	return re
}

// letter returns the character that a glob begins with, without the backslash before it, and the text after it. ok is false if the text ends
// after the backslash.
func letter(glob string) (c byte, after string, ok bool) {
	glob = strings.TrimPrefix(glob, `\`)
	if glob == "" {
		return 0, "", false
	}
	return glob[0], glob[1:], true
}

// bracket translates the bracket expression that a glob begins with, and returns the text after it. It matches no slash. ok is false if it is
// malformed or matches nothing.
func bracket(glob string) (expression, after string, ok bool) {
	var set [256]bool
	add := func(from, to byte) {
		for c := int(from); c <= int(to); c++ {
			set[c] = true
		}
	}
	rest := glob[1:]
	negated := strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "^")
	if negated {
		rest = rest[1:]
	}
	var from byte // the start of a range if a - follows; 0 for none
	for first := true; rest != "" && (first || rest[0] != ']'); first = false {
		name, behind, closed := strings.Cut(rest, "]")
		switch {
		case strings.HasPrefix(rest, "[:") && !closed:
			return "", "", false
		case strings.HasPrefix(rest, "[:") && strings.HasSuffix(name[2:], ":"):
			ranges, known := classes[name[2:len(name)-1]]
			if !known {
				return "", "", false
			}
			for ; ranges != ""; ranges = ranges[2:] {
				add(ranges[0], ranges[1])
			}
			rest, from = behind, 0
			continue
		case from != 0 && rest[0] == '-' && len(rest) > 1 && rest[1] != ']':
			var to byte
			if to, rest, ok = letter(rest[1:]); !ok {
				return "", "", false
			}
			add(from, to)
			from = 0
			continue
		}
		if from, rest, ok = letter(rest); !ok {
			return "", "", false
		}
		add(from, from)
	}
	var b strings.Builder
	for c, in := range set {
		if in != negated && c != '/' {
			fmt.Fprintf(&b, `\x{%x}`, c)
		}
	}
	if rest == "" || b.Len() == 0 {
		return "", "", false
	}
	return "[" + b.String() + "]", rest[1:], true
}

// classes lists the POSIX character classes as pairs of first and last characters.
var classes = map[string]string{
	"alnum": "azAZ09", "alpha": "azAZ", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az",
	"print": " ~", "punct": "!/:@[`{~", "space": "  \t\r", "upper": "AZ", "xdigit": "09afAF",
}

// latin1 returns a text in which each byte of s is one character, because git compares bytes.
func latin1(s string) string {
	if utf8.RuneCountInString(s) == len(s) && utf8.ValidString(s) {
		return s // ASCII
	}
	runes := make([]rune, len(s))
	for i := range len(s) {
		runes[i] = rune(s[i])
	}
	return string(runes)
}
