package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// maxWords bounds what the braces of one command expand to.
const maxWords = 256

// arg is one argument as far as it is known before the command runs.
type arg struct {
	word *syntax.Word // in the source
	text string       // all of it, or its known beginning
	// exact: text is all. glob: text holds the whole pattern of file names. loose: it may become several
	// words, or an option, whatever text says. With none of them an unknown rest follows text.
	exact, glob, loose bool
	plain              bool // the unknown rest cannot make it an option
}

// known returns an argument that is known.
func known(word *syntax.Word, text string) arg { return arg{word: word, text: text, exact: true} }

// maybeOption reports whether the argument may turn out to be an option that is not seen in the text.
func (a arg) maybeOption() bool {
	switch {
	case a.exact || a.plain:
		return false
	case a.loose:
		return true
	case a.glob:
		return strings.HasPrefix(a.text, "-")
	}
	return a.text == "" || a.text[0] == '-'
}

// args evaluates words as the shell would: braces, quotes, escapes and the variables HOME and PWD.
func (t *tracer) args(words []*syntax.Word, dir string) []arg {
	var out []arg
	for _, word := range words {
		for _, w := range expandBraces(word) {
			a := arg{word: word, loose: true}
			if w != nil {
				a = t.value(w, dir)
				a.word = word
			}
			if out = append(out, a); len(out) > maxWords {
				t.unjudged(t.text(words[0], words[len(words)-1]))
				return out
			}
		}
	}
	return out
}

// expandBraces returns the words that braces make of a word, a nil one for what they cannot be told of.
func expandBraces(word *syntax.Word) []*syntax.Word {
	w := &syntax.Word{Parts: slices.Clone(word.Parts)}
	if !syntax.SplitBraces(w) {
		return []*syntax.Word{word}
	}
	var out []*syntax.Word
	for expanded, err := range expand.BracesSeq(nil, w) {
		if err != nil || len(out) > maxWords {
			return []*syntax.Word{nil}
		}
		out = append(out, expanded)
	}
	return out
}

func (t *tracer) value(word *syntax.Word, dir string) arg {
	a := arg{exact: true}
	var out strings.Builder
	for i, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			text := lit.Value
			if i == 0 && strings.HasPrefix(text, "~") {
				text = expandHome(text, t.home)
			}
			text, glob := unescapeBare(text)
			out.WriteString(text)
			a.glob = a.glob || glob
			continue
		}
		text, exact := literalPart(part, t.home, dir, false)
		out.WriteString(text)
		if exact {
			continue
		}
		a.text, a.exact, a.glob = out.String(), false, false
		a.loose, a.plain = t.unknown(part, out.Len() == 0)
		return a
	}
	a.text = out.String()
	a.exact = !a.glob
	return a
}

// unknown tells whether a part that is not known may become several words, and whether it is harmless.
func (t *tracer) unknown(part syntax.WordPart, first bool) (loose, plain bool) {
	switch part := part.(type) {
	case *syntax.ArithmExp:
		return false, true
	case *syntax.ExtGlob:
		return false, !first
	case *syntax.ParamExp:
		if part.Length || plainName(part) && t.loopValues[part.Param.Value] {
			return false, true
		}
		return true, false
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			switch inner := inner.(type) {
			case *syntax.ParamExp:
				if inner.Length || plainName(inner) && t.loopValues[inner.Param.Value] {
					plain = true
					continue
				}
				if inner.Param == nil || inner.Index != nil || inner.Param.Value == "@" || inner.Names != 0 {
					return true, false
				}
				return false, !first && plain
			case *syntax.ArithmExp:
				plain = true
			case *syntax.CmdSubst:
				return false, false
			}
		}
		return false, plain
	}
	return true, false
}

// plainName reports whether the expansion is $name and nothing more.
func plainName(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
}

// unescapeBare reads text outside of quotes; glob says that it is a pattern of file names.
func unescapeBare(text string) (out string, glob bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '*', '?':
			glob = true
		case '[':
			glob = glob || strings.IndexByte(text[i:], ']') > 0
		case '\\':
			if i++; i == len(text) {
				return b.String(), glob
			}
			if text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String(), glob
}

// option is one option of a command line.
type option struct {
	name  string // a letter, or a long name as it was written
	value arg
}

// is reports whether the option is one of the names, which are separated by spaces. Long names may be
// shortened, as getopt takes them.
func (o option) is(names string) bool {
	for name := range strings.FieldsSeq(names) {
		if o.name == name || len(name) > 1 && len(o.name) > 1 && strings.HasPrefix(name, o.name) {
			return true
		}
	}
	return false
}

// line is a command line read as getopt does.
type line struct {
	options  []option
	operands []arg
	rest     int  // index of the first operand
	unknown  bool // an argument may be an option that is not seen
}

// readLine reads arguments. values names the options that take the next argument as their value; with
// stop the first operand ends the options.
func readLine(args []arg, values string, stop bool) line {
	l := line{rest: len(args)}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.maybeOption() {
			l.unknown = true
		}
		if a.exact && a.text == "--" {
			l.operands = append(l.operands, args[i+1:]...)
			l.rest = min(l.rest, i+1)
			return l
		}
		if len(a.text) < 2 || a.text[0] != '-' {
			l.operands = append(l.operands, a)
			l.rest = min(l.rest, i)
			if stop {
				l.operands = args[i:]
				return l
			}
			continue
		}
		i += l.option(a, args[i+1:], values)
	}
	return l
}

// option reads one argument of options and returns how many of those behind it are values.
func (l *line) option(a arg, next []arg, values string) int {
	valued := func(name string, o option) (arg, int) {
		if !o.is(values) || len(next) == 0 {
			return arg{}, 0
		}
		return next[0], 1
	}
	if strings.HasPrefix(a.text, "--") {
		name, text, has := strings.Cut(a.text[2:], "=")
		o := option{name: name}
		if has {
			o.value = arg{word: a.word, text: text, exact: a.exact, plain: a.plain}
			l.options = append(l.options, o)
			return 0
		}
		value, n := valued(name, o)
		o.value = value
		l.options = append(l.options, o)
		return n
	}
	for j := 1; j < len(a.text); j++ {
		o := option{name: a.text[j : j+1]}
		if !o.is(values) {
			// What is glued to it may be its value; whoever needs it looks there.
			o.value = arg{word: a.word, text: a.text[j+1:], exact: a.exact}
			l.options = append(l.options, o)
			continue
		}
		if j+1 < len(a.text) {
			o.value = arg{word: a.word, text: a.text[j+1:], exact: a.exact, plain: a.plain}
			l.options = append(l.options, o)
			return 0
		}
		value, n := valued(o.name, o)
		o.value = value
		l.options = append(l.options, o)
		return n
	}
	return 0
}
