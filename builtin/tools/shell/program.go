package shell

import (
	_ "embed"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/internal/paths"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/sdk"
)

// The table lists the harmless uses of programs that can run programs, or write files, through their arguments. A line is
//
//	names ; forms of operands and options
//
// where a name is one or more words of a command. The value of an option may follow = or be the next word. Most options need no mark for it,
// because every word of a command is judged as a path. One-letter options may share a word with each other and with a number. The marks:
// = the next word is the value and no operand, > the value is a file that is written, < a value in the same word is a file that is read,
// ! the operands are written in place, ? no operand is written. The forms:
//
//	any      no word is an option                re: 1re:  all operands, the first one match
//	stop     operands end the options            dash      long options have one -                rest:  all words after -- match
//	cmd:-    after one operand for each -, a command     run       a command that needs no rule itself    not:   the first operand is none of these
//	module   run, and in the table               local     run, and installed in the project      script the first is a file of the project
//	out:     all, or that of this number, are files that are written                              writes by its name: rules for edit hold
//	text     no word is a path                   links     may make links                         name   "always" holds one more word
//	exact    "always" holds the whole command    never     nothing is harmless
//	deep     reads directories with their .env   builtin   runs in the shell itself               message what follows -m is not a path
//
// A use is not harmless if it runs or writes what its arguments, its input or a file names, or passes work to a running process, which is not
// confined.
//
//go:embed programs.txt
var table string

// program is a line of the table: its forms with their arguments, and its options with their marks.
type program map[string]string

func (p program) has(word string) bool {
	_, ok := p[word]
	return ok
}

// keep reports whether the words match the expression of a form, if the program has it.
func (p program) keep(form string, words []word) bool {
	return !p.has(form) || !slices.ContainsFunc(words, func(w word) bool {
		return w.glob != "" || !regexp.MustCompile("^(?:"+p[form]+")$").MatchString(w.text)
	})
}

var programs = sync.OnceValue(func() map[string]program {
	out := map[string]program{}
	for line := range strings.Lines(table) {
		names, words, _ := strings.Cut(line, ";")
		p := program{}
		for w := range strings.FieldsSeq(words) {
			name, value, _ := strings.Cut(w, ":")
			if w[0] == '-' {
				name = strings.TrimRight(w, "=><!?")
				value = w[len(name):]
			}
			p[name] = value
		}
		for name := range strings.SplitSeq(names, ",") {
			out[strings.TrimSpace(name)] = p
		}
	}
	return out
})

// versioned matches names with a version, and the names of the dynamic loader, which runs any program; musl's loader is its libc.
var versioned = lazyregexp.New(`^(?:(python3|pip3)\.\d+|(ld|libc)[\w.-]*\.so[\d.]*)$`)

// programOf returns the entry of a command in the table, and the number of words that name it; nil for a program that is not in the table. An error
// means that no use of the program is harmless.
func programOf(name string, words []word) (program, int, error) {
	name = versioned().ReplaceAllString(name, "$1$2")
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
		return nil, 0, fmt.Errorf("%s, which can run or change more than its words show", sources(words[:min(2, len(words))]))
	}
	return found, keys, nil
}

var subcommand = lazyregexp.New(`^[a-z][a-z0-9:_-]*$`)

// narrowest returns the narrowest useful pattern for commands like this one, or "" if no pattern can express them.
func (j *judge) narrowest(p program, keys int, words []word) string {
	if p == nil && len(words) > 1 && subcommand().MatchString(words[1].text) && !exists(from(j.base, words[1].text)) || p.has("name") {
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
var recursive = lazyregexp.New(`^(-[A-Za-z]*[ru]|--recursive|--hidden)`)

// program judges the words of a program in the table.
func (j *judge) program(p program, keys int, words []word) error {
	refuse := fmt.Errorf("%s with an option or operand that can run or change more than it shows", sources(words[:keys]))
	args := words[keys:]
	operands, rest, mode, ok := j.options(p, args)
	if !ok || !p.keep("re", operands) || !p.keep("1re", operands[:min(1, len(operands))]) || !p.keep("rest", rest) ||
		p.has("not") && len(operands) > 0 && slices.Contains(strings.Split(p["not"], ","), operands[0].text) {
		return refuse
	}
	if p.has("links") {
		defer func() { j.linked = true }()
	}
	all := slices.Concat(operands, rest)
	all = all[min(len(p["cmd"]), len(all)):]
	switch {
	case p.has("text"): // the program shows what its patterns match
		return j.paths(slices.DeleteFunc(slices.Clone(args), func(w word) bool { return w.glob == "" }))
	case !p.has("cmd") && !p.has("run") && !p.has("module") && !p.has("script"):
	case len(all) == 0 || all[0].glob != "" || all[0].text == "-" || all[0].text == "": // node "" runs its input
		return refuse
	case p.has("cmd"):
		return j.command(all, true)
	case !p.has("script"):
		known, _, err := programOf(path.Base(all[0].text), all)
		bin := "/node_modules/.bin/" + all[0].text
		if err != nil || p.has("module") && known == nil || p.has("local") && !exists(j.base+bin) && !exists(j.call.Worktree+bin) {
			return refuse
		}
		return j.command(all, false)
	}
	if p.has("writes") && mode != "?" || p.has("links") {
		j.imply("edit", sdk.AnyFile, true)
	}
	if p.has("deep") && slices.ContainsFunc(args, func(w word) bool { return recursive().MatchString(w.text) }) {
		for _, o := range append(operands, word{}) {
			dir := from(j.base, o.text)
			if paths.Remote(j.call, dir) {
				continue
			}
			for _, dir := range []string{paths.Real(dir), filepath.Clean(dir)} {
				hidden, _ := globDir(dir, ".env*") // a pattern that cannot be malformed
				for _, file := range hidden {
					j.implyFile("read", file, false)
				}
			}
		}
	}
	if err := j.written(p, operands, mode); err != nil {
		return err
	}
	if p.has("message") {
		args = withoutMessage(args)
	}
	return j.paths(args)
}

var messageOption = lazyregexp.New(`^(-[a-z]*m|--message)$`)

// withoutMessage returns arguments without the first message of a commit, which is not a path.
func withoutMessage(args []word) []word {
	i := slices.IndexFunc(args, func(w word) bool { return messageOption().MatchString(w.text) }) + 1
	if i == 0 || i == len(args) || args[i].glob != "" {
		return args
	}
	return slices.Delete(slices.Clone(args), i, i+1)
}

// written judges the operands that are written.
func (j *judge) written(p program, operands []word, mode string) error {
	for i, o := range operands {
		expanded, err := j.expand(o)
		if last := i == len(operands)-1; err != nil || o.glob != "" && (p["out"] != "" || last && p.has("links")) {
			return fmt.Errorf("a pattern among files of which one is written")
		}
		last := operands[len(operands)-1].text
		for _, text := range expanded {
			if p.has("writes") || p.has("links") { // the program may also make directories
				j.outside = appendNew(j.outside, []string{from(j.base, text)})
			}
			switch {
			case mode == "!", p.has("out") && (p["out"] == "" || p["out"] == strconv.Itoa(i+1)):
				if err := j.output(text); err != nil {
					return err
				}
			case p.has("writes") && mode != "?":
				j.implyFile("edit", text, false)
				if text != last {
					j.implyFile("edit", last+"/"+path.Base(text), false)
				}
			}
		}
	}
	return nil
}

// options splits arguments into operands and the words after --, or after the first operand if that ends the options. mode is the mark of
// an option that decides whether operands are written, if there is one; ok is false if an option is not in the table.
func (j *judge) options(p program, args []word) (operands, rest []word, mode string, ok bool) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		switch {
		case p.has("any") || len(text) < 2 || text[0] != '-':
			operands = append(operands, args[i])
			if p.has("stop") {
				return operands, args[i+1:], mode, true
			}
			continue
		case text == "--" && p.has("rest"):
			return operands, args[i+1:], mode, true
		case text == "--":
			return append(operands, args[i+1:]...), nil, mode, true
		}
		mark, value, glued, known := p.option(text)
		if mark == "!" || mark == "?" && mode == "" {
			mode = mark
		}
		if valued := mark == "=" || mark == ">"; valued && !glued && i+1 < len(args) {
			i++
			value = args[i].text
		}
		if !known || args[i].glob != "" || mark == ">" && (value == "" || j.output(value) != nil) || mark == "<" && glued && j.path(value) != nil {
			return nil, nil, "", false
		}
	}
	return operands, nil, mode, true
}

// option returns the mark of an option and the value in the same word. For a cluster such as -rn5 it returns the mark that decides.
func (p program) option(text string) (mark, value string, glued, known bool) {
	name, value, glued := strings.Cut(text, "=")
	if p.has("dash") && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	if short := strings.TrimRight(name, "0123456789"); p.has("dash") && p[short] == "=" && !p.has(name) {
		return "=", name[len(short):], true, true // -c16
	}
	if p.has(name) && p[name] != ">" || text[1] == '-' || p.has("dash") { // sort -o=x writes the file =x
		return p[name], value, glued, p.has(name)
	}
	for i, letter := range text[1:] {
		name := "-" + string(letter)
		switch {
		case letter >= '0' && letter <= '9':
		case !p.has(name), p[name] == "=", p[name] == ">", p[name] == "<":
			return p[name], text[i+2:], i+2 < len(text), p.has(name)
		case p[name] == "!":
			mark = "!"
		}
	}
	return mark, "", false, true
}
