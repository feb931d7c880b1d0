package shell

import (
	"slices"
)

// Words returns the words of the commands of a text, or why it is outside of the grammar.
func Words(text string) (list [][]string, err error) {
	commands, err := parse(text)
	for _, c := range commands {
		words := make([]string, 0, len(c.words))
		for _, w := range c.words {
			words = append(words, w.text)
		}
		list = append(list, words)
	}
	return list, err
}

// IsBuiltin reports whether the shell itself runs a command, or none.
func IsBuiltin(name string) bool {
	return !plainName().MatchString(name) || programs()[name].has("builtin") || slices.Contains([]string{"echo", "printf", "true", "false", "pwd", "test", "["}, name)
}
