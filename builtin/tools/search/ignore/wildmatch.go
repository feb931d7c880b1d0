package ignore

import "strings"

// outcome is the result of matching a pattern. The two kinds of abort let an earlier star
// stop, which prevents exponential time for patterns with many stars.
type outcome int

const (
	matched outcome = iota
	mismatched
	abortAll        // the end of the text: no star can help
	abortToStarStar // a slash: only a ** can help
)

// wildmatch reports whether the glob pattern matches all of text by the rules of git's wildmatch.c in
// pathname mode: * and ? do not match slashes, ** between slashes does.
func wildmatch(pattern, text string) bool { return wild(pattern, text) == matched }

func wild(p, text string) outcome {
	i, t := 0, 0
	for i < len(p) {
		c := p[i]
		if t == len(text) && c != '*' {
			return abortAll
		}
		switch c {
		case '*':
			return star(p, i, text[t:])
		case '?':
			if text[t] == '/' {
				return mismatched
			}
			i++
		case '[':
			end, result := class(p, i, text[t])
			if result != matched {
				return result
			}
			i = end
		case '\\':
			if i++; i == len(p) || p[i] != text[t] {
				return mismatched
			}
			i++
		default:
			if c != text[t] {
				return mismatched
			}
			i++
		}
		t++
	}
	if t < len(text) {
		return mismatched
	}
	return matched
}

// star matches text against p from the star at p[i].
func star(p string, i int, text string) outcome {
	begin := i
	for i < len(p) && p[i] == '*' {
		i++
	}
	rest := p[i:]
	crossSlash := false
	if i-begin > 1 && (begin == 0 || p[begin-1] == '/') &&
		(rest == "" || rest[0] == '/' || strings.HasPrefix(rest, `\/`)) {
		// The two slashes around ** may be the same one: a/**/b matches a/b.
		if rest != "" && rest[0] == '/' && wild(rest[1:], text) == matched {
			return matched
		}
		crossSlash = true
	}
	if rest == "" {
		if !crossSlash && strings.Contains(text, "/") {
			return mismatched
		}
		return matched
	}
	if !crossSlash && rest[0] == '/' {
		slash := strings.IndexByte(text, '/')
		if slash < 0 {
			return mismatched
		}
		return wild(rest, text[slash:])
	}
	for t := 0; t < len(text); t++ {
		result := wild(rest, text[t:])
		if result != mismatched && (!crossSlash || result != abortToStarStar) {
			return result
		}
		if result == mismatched && !crossSlash && text[t] == '/' {
			return abortToStarStar
		}
	}
	return abortAll
}

// class matches c against the bracket expression at p[i] and returns the index after it.
func class(p string, i int, c byte) (end int, result outcome) {
	i++
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	found := false
	var prev byte // the start of a range if a - follows; 0 for none
	for first := true; first || i >= len(p) || p[i] != ']'; first = false {
		if i >= len(p) {
			return 0, abortAll
		}
		switch {
		case p[i] == '\\':
			if i++; i == len(p) {
				return 0, abortAll
			}
			found = found || p[i] == c
			prev = p[i]
		case p[i] == '-' && prev != 0 && i+1 < len(p) && p[i+1] != ']':
			i++
			if p[i] == '\\' {
				if i++; i == len(p) {
					return 0, abortAll
				}
			}
			found = found || prev <= c && c <= p[i]
			prev = 0
		case strings.HasPrefix(p[i:], "[:"):
			length := strings.IndexByte(p[i+2:], ']')
			if length < 0 {
				return 0, abortAll
			}
			name := p[i+2 : i+2+length]
			if !strings.HasSuffix(name, ":") { // not a class, but a set that contains [
				found = found || c == '['
				prev = '['
				break
			}
			in, known := named(strings.TrimSuffix(name, ":"), c)
			if !known {
				return 0, abortAll
			}
			found = found || in
			i += 2 + length
			prev = 0
		default:
			found = found || p[i] == c
			prev = p[i]
		}
		i++
	}
	if found == negated || c == '/' {
		return 0, mismatched
	}
	return i + 1, matched
}

// classes lists the POSIX character classes as pairs of first and last characters.
var classes = map[string]string{
	"alnum": "azAZ09", "alpha": "azAZ", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az",
	"print": " ~", "punct": "!/:@[`{~", "space": "  \t\r", "upper": "AZ", "xdigit": "09afAF",
}

// named reports whether c is in the POSIX class, and whether the class exists.
func named(class string, c byte) (in, known bool) {
	ranges, known := classes[class]
	for i := 0; i < len(ranges); i += 2 {
		in = in || ranges[i] <= c && c <= ranges[i+1]
	}
	return in, known
}
