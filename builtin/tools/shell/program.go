package shell

import (
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/sdk"
)

// The table lists what is harmless of programs that can run programs, or write, through their arguments. A line is
//
//	names ; forms of operands ; options
//
// with one name or more words of a command in each name. An option may have a value behind = or in the next word, and most need no mark for
// it, because every word of a command is judged as a path. The marks: = the next word is the value and no operand, ? numbers may follow in the
// same word, > the value is a file that is written, ! the operands are written in place; -# is any number. The forms:
//
//	any      no word is an option                re: 1re:  all operands, the first one match
//	stop     operands end the options            dash      long options have one -                rest:  what is behind -- matches
//	cmd:-    after one operand for each -, a command     run       a command that needs no rule itself    not:   the first operand is none of these
//	module   run, and in the table               local     run, and installed in the project      script the first is a file of the project
//	out out1 out2  all, the first, the second are files that are written                          writes by its name: rules for edit hold
//	text     no word is a path                   links     may make links                         name   "always" holds one more word
//	exact    "always" holds the whole command    never     nothing is harmless
//	deep     reads directories with their .env   builtin   runs in the shell itself
//
// Nothing is harmless of what runs or writes what its arguments, its input or a file says, or hands work to a process that was there before,
// out of reach of the confinement.
//
//go:embed programs.txt
var table string

// program is a line of the table.
type program struct {
	options map[string]byte // by name: its mark, or a blank
	forms   []string
}

// form returns the argument of a form, and whether the program has it. No program has none.
func (p *program) form(name string) (string, bool) {
	if p == nil {
		return "", false
	}
	for _, f := range p.forms {
		if f == name || strings.HasPrefix(f, name+":") {
			return strings.TrimPrefix(f[len(name):], ":"), true
		}
	}
	return "", false
}

func (p *program) has(form string) bool {
	_, ok := p.form(form)
	return ok
}

// keep reports whether the words match the expression of a form, if the program has it.
func (p *program) keep(form string, words []word) bool {
	re, ok := p.form(form)
	return !ok || !slices.ContainsFunc(words, func(w word) bool {
		return w.glob != "" || !regexp.MustCompile("^(?:"+re+")$").MatchString(w.text)
	})
}

var programs = sync.OnceValue(func() map[string]*program {
	out := map[string]*program{}
	for line := range strings.Lines(table) {
		fields := append(strings.SplitN(line, ";", 3), "", "")
		p := &program{options: map[string]byte{}, forms: strings.Fields(fields[1])}
		for _, o := range strings.Fields(fields[2]) {
			if mark := o[len(o)-1]; strings.IndexByte("=?>!", mark) >= 0 {
				p.options[o[:len(o)-1]] = mark
			} else {
				p.options[o] = ' '
			}
		}
		for name := range strings.SplitSeq(fields[0], ",") {
			out[strings.TrimSpace(name)] = p
		}
	}
	return out
})

var versioned = regexp.MustCompile(`^(python3|pip3)\.\d+$`)

// programOf returns what the table says about a command, and how many words name it; nil for a program that is not in the table. The error
// says that nothing about it is harmless.
func programOf(name string, words []word) (*program, int, error) {
	name = versioned.ReplaceAllString(name, "$1")
	if programs()[name].has("builtin") {
		return nil, 0, fmt.Errorf("the shell's own command %s", name)
	}
	if len(words) == 2 && (words[1].text == "--version" || words[1].text == "--help") {
		return programs()["--version"], 2, nil
	}
	key, found, keys := name, programs()[name], 1
	for i := 1; i < min(3, len(words)); i++ {
		if key += " " + words[i].text; programs()[key] != nil {
			found, keys = programs()[key], i+1
		}
	}
	if found.has("never") {
		return nil, 0, fmt.Errorf("%s, which can run or change more than its words show", texts(words[:min(2, len(words))]))
	}
	return found, keys, nil
}

var subcommand = regexp.MustCompile(`^[a-z][a-z0-9:_-]*$`)

// narrowest returns the narrowest useful pattern for commands like this one; empty: none can be written.
func (j *judge) narrowest(p *program, keys int, words []word) string {
	if p == nil && len(words) > 1 && subcommand.MatchString(words[1].text) && !exists(from(j.base, words[1].text)) || p.has("name") {
		keys++
	}
	prefix, tail := sources(words[:min(max(keys, 1), len(words))]), " *"
	if p.has("exact") || keys > len(words) {
		prefix, tail = sources(words), ""
	}
	if strings.ContainsAny(prefix, "*?\\\n") {
		return ""
	}
	return prefix + tail
}

// recursive matches options of grep and its kin that read the files of a directory, hidden ones too.
var recursive = regexp.MustCompile(`^(-[A-Za-z]*[ru]|--recursive|--hidden)`)

// program judges the words of a program in the table.
func (j *judge) program(p *program, keys int, words []word) error {
	refuse := fmt.Errorf("%s with an option or operand that can run or change more than it shows", texts(words[:keys]))
	args := words[keys:]
	operands, rest, place, ok := j.options(p, args)
	not, _ := p.form("not")
	if !ok || !p.keep("re", operands) || !p.keep("1re", operands[:min(1, len(operands))]) || !p.keep("rest", rest) ||
		len(operands) > 0 && slices.Contains(strings.Split(not, ","), operands[0].text) {
		return refuse
	}
	if p.has("links") {
		defer func() { j.linked = true }()
	}
	all := slices.Concat(operands, rest)
	skip, command := p.form("cmd")
	all = all[min(len(skip), len(all)):]
	switch {
	case p.has("text"): // what patterns match is shown
		return j.paths(slices.DeleteFunc(slices.Clone(args), func(w word) bool { return w.glob == "" }))
	case !command && !p.has("run") && !p.has("module") && !p.has("script"):
	case len(all) == 0 || all[0].glob != "" || all[0].text == "-":
		return refuse
	case command:
		return j.command(all, true)
	case !p.has("script"):
		known, _, err := programOf(path.Base(all[0].text), all)
		bin := "/node_modules/.bin/" + all[0].text
		if err != nil || p.has("module") && known == nil || p.has("local") && !exists(j.base+bin) && !exists(j.call.Worktree+bin) {
			return refuse
		}
		return j.command(all, false)
	}
	if p.has("writes") || p.has("links") {
		j.imply("edit", sdk.AnyFile, true)
	}
	if p.has("deep") && slices.ContainsFunc(args, func(w word) bool { return recursive.MatchString(w.text) }) {
		for _, o := range append(operands, word{}) {
			hidden, _ := filepath.Glob(escapeGlob(from(j.base, o.text)) + "/.env*") // a pattern that cannot be malformed
			for _, file := range hidden {
				j.implyFile("read", file, false)
			}
		}
	}
	if err := j.written(p, operands, place); err != nil {
		return err
	}
	return j.paths(args)
}

// written judges the operands that are written.
func (j *judge) written(p *program, operands []word, place bool) error {
	for i, o := range operands {
		expanded, err := j.expand(o)
		if last := i == len(operands)-1; err != nil || o.glob != "" && (p.has("out1") || p.has("out2") || last && p.has("links")) {
			return fmt.Errorf("a pattern among files of which one is written")
		}
		for _, text := range expanded {
			switch {
			case p.has("out1") && i == 0, p.has("out2") && i == 1, p.has("out"), place:
				if err := j.output(text); err != nil {
					return err
				}
			case p.has("writes"):
				j.implyFile("edit", text, false)
				j.implyFile("edit", operands[len(operands)-1].text+"/"+path.Base(text), false)
			}
		}
	}
	return nil
}

// options parts arguments into operands and the words behind --, or behind the first operand where that ends the options. place is set if
// an option says that operands are written in place; ok is false if one is not in the table.
func (j *judge) options(p *program, args []word) (operands, rest []word, place, ok bool) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case p.has("any") || len(text) < 2 || text[0] != '-':
			operands = append(operands, args[i])
			if p.has("stop") {
				return operands, args[i+1:], place, true
			}
			continue
		case text == "--" && p.has("rest"):
			return operands, args[i+1:], place, true
		case text == "--":
			return append(operands, args[i+1:]...), nil, place, true
		}
		mark, value, glued := p.option(text)
		place = place || mark == '!'
		if valued := mark == '=' || mark == '>'; valued && !glued && i+1 < len(args) {
			i++
			value = args[i].text
		}
		if mark == 0 || args[i].glob != "" || mark == '>' && (value == "" || j.output(value) != nil) {
			return nil, nil, false, false
		}
	}
	return operands, nil, place, true
}

// option returns the mark of an option, or of the last one of a cluster such as -rn5, and the value in the same word. The mark of an unknown
// one is 0.
func (p *program) option(text string) (mark byte, value string, glued bool) {
	name, value, glued := strings.Cut(text, "=")
	if p.has("dash") && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	if mark = p.options[name]; mark != 0 || text[1] == '-' || p.has("dash") {
		return mark, value, glued
	}
	if p.options["-#"] != 0 && strings.Trim(text[1:], "0123456789") == "" {
		return ' ', "", false
	}
	last := byte(' ')
	for i := 1; i < len(text); i++ {
		switch mark = p.options["-"+text[i:i+1]]; {
		case mark == 0, mark == '=', mark == '>':
			return mark, text[i+1:], i+1 < len(text)
		case mark == '?' && strings.Trim(text[i+1:], "0123456789%,.") == "":
			return last, "", false
		case mark == '!':
			last = mark
		}
	}
	return last, "", false
}
