package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// promptArguments maps the text after a command to the arguments of a prompt: words in the order of the arguments, or
// name=value. The last argument gets all remaining words. Quotes group words.
func promptArguments(p *Prompt, text string) (map[string]string, error) {
	words, err := splitWords(text)
	if err != nil {
		return nil, err
	}
	args, last, rest := p.assign(words)
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

// assign sets the arguments that words give by name, and then the others in their order. It returns the last argument set in that way, and the
// remaining words.
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
	words, err := splitWords(text)
	if err != nil || len(p.Arguments) == 0 || strings.HasSuffix(text, `"`) || strings.HasSuffix(text, "'") { // a quoted word is complete
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
	if words, err := splitWords(value); err == nil && len(words) == 1 && words[0] == value {
		return value
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}

// splitWords splits at white space outside single or double quotes, which open at the start of a word or of a value. In double
// quotes, a backslash escapes a quote.
func splitWords(text string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == '"' && r == '\\':
			escaped = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case (r == '"' || r == '\'') && (!inWord || strings.HasSuffix(word.String(), "=")): // not the apostrophe in "don't"
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, errors.New("unclosed quote")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}
