package visible

import "bytes"

// MaxLine is the maximum length of a line of a program's output, in bytes; longer lines are cut.
const MaxLine = 4 << 10

// Lines splits the output of a program into lines of at most MaxLine bytes, without their ends, \n or \r\n. A mark ends longer ones. Empty
// lines are dropped.
type Lines struct {
	Take func(line []byte) // receives each line, which is valid until it returns
	line []byte
	over bool // the line was cut
}

// Write takes a piece of output.
func (l *Lines) Write(data []byte) {
	for {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		room := MaxLine - len(l.line)
		l.over = l.over || len(line) > room
		l.line = append(l.line, line[:min(len(line), room)]...)
		if !ended {
			return
		}
		l.Flush()
		data = rest
	}
}

// Flush ends the line that was begun.
func (l *Lines) Flush() {
	if l.over {
		const mark = " […]"
		l.line = append(l.line[:MaxLine-len(mark)], mark...)
	}
	if l.line = bytes.TrimSuffix(l.line, []byte("\r")); len(l.line) > 0 {
		l.Take(l.line)
	}
	l.line, l.over = l.line[:0], false
}
