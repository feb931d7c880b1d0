package mcp

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/internal/lazyregexp"
)

// promptArguments maps the text after a command to the arguments of a prompt: words in the order of the arguments, or
// name=value. The last argument gets all remaining words. Quotes group words.
func promptArguments(p *Prompt, text string) (map[string]string, error) {
	args, last, rest := p.assign(splitWords(text))
	switch {
	case len(rest) > 0 && last == "":
		return nil, fmt.Errorf("too many arguments: %q", strings.Join(rest, " "))
	case len(rest) > 0:
		args[last] += " " + strings.Join(rest, " ")
	}
	for _, a := range p.Arguments {
		if _, set := args[a.Name]; a.Required && !set {
			return nil, fmt.Errorf("missing argument %q", a.Name)
		}
	}
	return args, nil
}

// assign sets the arguments that words give by name, and then the others in order. It returns the last argument that was set by its position,
// and the remaining words.
func (p *Prompt) assign(words []string) (given map[string]string, last string, rest []string) {
	given = map[string]string{}
	for _, w := range words {
		if name, value, named := strings.Cut(w, "="); named && p.has(name) {
			given[name] = value
			continue
		}
		rest = append(rest, w)
	}
	for _, a := range p.Arguments {
		if _, set := given[a.Name]; !set && len(rest) > 0 {
			given[a.Name], last, rest = rest[0], a.Name, rest[1:]
		}
	}
	return given, last, rest
}

// open returns the argument of a prompt that the last word of a text belongs to, the beginning of its value, and the arguments before it.
// prefix is the part of the word before the value.
func (p *Prompt) open(text string) (argument, value, prefix string, given map[string]string, ok bool) {
	words := splitWords(text)
	inQuotes := strings.Count(text, `"`)%2 == 1
	if len(p.Arguments) == 0 || inQuotes || strings.HasSuffix(text, `"`) || strings.HasSuffix(text, "'") { // a quoted word is complete
		return "", "", "", nil, false
	}
	last := ""
	if len(words) > 0 && !strings.HasSuffix(text, " ") {
		words, last = words[:len(words)-1], words[len(words)-1]
	}
	given, _, _ = p.assign(words)
	if name, value, named := strings.Cut(last, "="); named && p.has(name) {
		return name, value, name + "=", given, true
	}
	for _, a := range p.Arguments {
		if _, taken := given[a.Name]; !taken {
			return a.Name, last, "", given, true
		}
	}
	return "", "", "", nil, false
}

func (p *Prompt) has(argument string) bool {
	return slices.ContainsFunc(p.Arguments, func(a PromptArgument) bool { return a.Name == argument })
}

// quoted returns a value as splitWords reads it.
func quoted(value string) string {
	if words := splitWords(value); len(words) == 1 && words[0] == value {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

var (
	// word matches a word: name= (optional) and a text in quotes, or a text without white space.
	word    = lazyregexp.New(`(?s)([^\s"'=]*=)?("(?:[^"\\]|\\.)*"|'[^']*')|\S+`)
	escaped = lazyregexp.New(`(?s)\\(.)`)
)

// splitWords splits at white space outside single or double quotes, which open at the start of a word or of a value. In double
// quotes, a backslash escapes a quote.
func splitWords(text string) []string {
	var words []string
	for _, match := range word().FindAllStringSubmatch(text, -1) {
		one, name, quoted := match[0], match[1], match[2]
		if quoted != "" {
			one = quoted[1 : len(quoted)-1]
			if quoted[0] == '"' {
				one = escaped().ReplaceAllString(one, "$1")
			}
			one = name + one
		}
		words = append(words, one)
	}
	return words
}
