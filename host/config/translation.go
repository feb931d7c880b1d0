package config

import "fmt"

// Translation is a configuration of another program as one of tenon.
type Translation struct {
	Config []byte // the text of a tenon.json
	Notes  []Note // in the order of the lines
}

// Note says what was not carried over as it was, and why.
type Note struct {
	Line   int    // in the text, from 1; 0 for what is in no line
	Key    string // agent.build.mode; empty for what is of no key
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
