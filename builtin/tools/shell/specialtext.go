package shell

import "strings"

func (t *tracer) sed(inv *invocation) {
	l := readLine(inv.args, "e f l expression file line-length", false)
	scripts, inPlace := []arg{}, false
	if l.unknown {
		t.unjudged(inv.source)
	}
	for _, o := range l.options {
		switch {
		case o.is("i in-place"):
			inPlace = true
		case o.is("e expression"):
			scripts = append(scripts, o.value)
		case o.is("f file"):
			t.unjudged(inv.source)
		}
	}
	files := l.operands
	if len(scripts) == 0 && len(files) > 0 {
		scripts, files = files[:1], files[1:]
	}
	for _, s := range scripts {
		if !s.exact || !sedReads(s.text) {
			t.unjudged(inv.source)
		}
	}
	if inPlace {
		t.writes(inv, files, false)
	}
}

// sedReads reports whether a sed script only prints: it has none of the commands that run, read or write files.
// What it does not understand it refuses.
func sedReads(script string) bool {
	s := &sedScript{script}
	for {
		s.skip(" \t\n;{}")
		if s.rest == "" {
			return true
		}
		if !s.command() {
			return false
		}
	}
}

type sedScript struct{ rest string }

func (s *sedScript) skip(set string) { s.rest = strings.TrimLeft(s.rest, set) }

// address skips one address.
func (s *sedScript) address() bool {
	switch {
	case s.rest == "":
	case s.rest[0] == '$':
		s.rest = s.rest[1:]
	case strings.ContainsRune("0123456789+~", rune(s.rest[0])):
		s.skip("0123456789+~")
	case s.rest[0] == '/':
		s.rest = s.rest[1:]
		if !s.until('/') {
			return false
		}
		s.skip("IM")
	}
	return s.rest == "" || s.rest[0] != '\\' // another delimiter
}

// until skips to behind the delimiter. Within brackets it stands for itself in some versions and not in others, so
// that such a text is refused.
func (s *sedScript) until(delimiter byte) bool {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case delimiter:
			if openBracket(s.rest[:i]) {
				return false
			}
			s.rest = s.rest[i+1:]
			return true
		}
	}
	return false
}

// openBracket reports whether a pattern ends within brackets.
func openBracket(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '[':
			i++
			if i < len(pattern) && pattern[i] == '^' {
				i++
			}
			first := i
			for i < len(pattern) && (pattern[i] != ']' || i == first) {
				if strings.HasPrefix(pattern[i:], "[:") {
					i += max(strings.Index(pattern[i:], ":]"), 0) + 1
				}
				i++
			}
			if i >= len(pattern) {
				return true
			}
		}
	}
	return false
}

func (s *sedScript) command() bool {
	if !s.address() {
		return false
	}
	s.skip(" \t")
	if strings.HasPrefix(s.rest, ",") {
		s.rest = s.rest[1:]
		s.skip(" \t")
		if !s.address() {
			return false
		}
	}
	s.skip(" \t!")
	if s.rest == "" {
		return false
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	switch {
	case strings.IndexByte("pdqQ=nNgGhHxDPlzF{}", c) >= 0:
		s.skip("0123456789 \t")
		return s.rest == "" || strings.IndexByte(";\n}", s.rest[0]) >= 0 || c == '{'
	case c == 's' || c == 'y':
		return s.substitute()
	case c == '#', c == ':', c == 'b', c == 't', c == 'T', c == 'a', c == 'i', c == 'c':
		// A comment, a label or text: to the end of the line. In what follows on the same line a label ends
		// in some versions and not in others.
		line, rest, _ := strings.Cut(s.rest, "\n")
		if (strings.IndexByte(":btT", c) >= 0 && strings.ContainsAny(line, ";}") && !sedReads(strings.TrimLeft(line, " \tabcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"))) || strings.HasSuffix(line, `\`) {
			return false
		}
		s.rest = rest
		return true
	}
	return false
}

func (s *sedScript) substitute() bool {
	if s.rest == "" || s.rest[0] == '\\' || s.rest[0] == '\n' || s.rest[0] >= 0x80 {
		return false
	}
	delimiter := s.rest[0]
	s.rest = s.rest[1:]
	for range 2 {
		if !s.until(delimiter) {
			return false
		}
	}
	s.skip("gpiIM0123456789")
	s.skip(" \t")
	return s.rest == "" || strings.IndexByte(";\n}", s.rest[0]) >= 0
}

func (t *tracer) awk(inv *invocation) {
	args := inv.args
	for len(args) > 0 {
		a := args[0]
		if a.maybeOption() {
			t.unjudged(inv.source)
			return
		}
		if !strings.HasPrefix(a.text, "-") || a.text == "-" {
			break
		}
		args = args[1:]
		switch {
		case a.text == "--":
		case a.text == "-F", a.text == "-v":
			args = args[min(1, len(args)):]
			continue
		case strings.HasPrefix(a.text, "-F"), strings.HasPrefix(a.text, "-v"), a.text == "--version", a.text == "--posix", a.text == "--csv":
			continue
		default:
			t.unjudged(inv.source)
			return
		}
		break
	}
	if len(args) > 0 && (!args[0].exact || !awkReads(args[0].text)) {
		t.unjudged(inv.source)
	}
}

// awkReads reports whether an awk program only prints. What it does not understand it refuses.
func awkReads(program string) bool {
	if strings.Contains(program, "system") || strings.Contains(program, "getline") || strings.Contains(program, "@") || strings.Contains(program, `\`+"\n") {
		return false
	}
	lone := strings.Contains(strings.ReplaceAll(program, "||", ""), "|")
	if !lone && !strings.Contains(program, ">") {
		return true
	}
	if strings.ContainsAny(program, "#") {
		return false
	}
	code, ok := awkCode(program)
	if !ok || strings.Contains(strings.ReplaceAll(code, "||", ""), "|") {
		return false
	}
	// A > behind print, outside of parentheses, is a file.
	for {
		at := strings.Index(code, "print")
		if at < 0 {
			return true
		}
		code = code[at:]
		end := strings.IndexAny(code, ";}\n")
		if end < 0 {
			end = len(code)
		}
		if strings.Contains(code[:end], ">") {
			return false
		}
		code = code[end:]
	}
}

// awkCode returns the program without its strings and patterns; false where it cannot tell a pattern from a
// division.
func awkCode(program string) (string, bool) {
	var out strings.Builder
	last := byte('{')
	for i := 0; i < len(program); i++ {
		c := program[i]
		switch {
		case c == '"', c == '/' && strings.IndexByte("{(,;!~&|?:=\n", last) >= 0:
			end := i + 1
			for end < len(program) && program[end] != c {
				if program[end] == '\\' {
					end++
				}
				if c == '/' && end < len(program) && program[end] == '[' {
					return "", false
				}
				end++
			}
			if end >= len(program) {
				return "", false
			}
			i, last = end, 'x'
			out.WriteByte('x')
			continue
		case c == '/':
			return "", false
		}
		out.WriteByte(c)
		if c != ' ' && c != '\t' {
			last = c
		}
	}
	return out.String(), true
}
