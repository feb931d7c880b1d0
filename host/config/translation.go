package config

import "fmt"

// Translation is the translated configuration of another program.
type Translation struct {
	Config []byte // the text of a tenon.json
	Notes  []Note // in the order of the lines
}

// Note is about a value that was not imported or was changed.
type Note struct {
	Line   int    // in the text, from 1; 0 without a line
	Key    string // such as agent.build.mode; empty without a key
	Reason string
}

// String returns the note as one line.
func (n Note) String() string {
	text := n.Reason
	if n.Key != "" {
		text = n.Key + ": " + text
	}
	if n.Line > 0 {
		text = fmt.Sprintf("line %d: %s", n.Line, text)
	}
	return text
}
