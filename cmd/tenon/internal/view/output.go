package view

import (
	"strings"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/visible"
)

// maxOutput is the number of bytes that are shown of an output, from its end.
const maxOutput = 256 << 10

// carriage matches carriage returns at the end of a line, and the text that another one overwrites.
var carriage = lazyregexp.New(`(?m)\r+$|^.*\r([^\r\n])`)

// Plain returns the output of a program without colors and without the text that it has overwritten, such as the states of a progress bar.
func Plain(output string) string {
	return carriage().ReplaceAllString(terminal.StripSGR(output), "$1")
}

// OutputLines returns the lines of a program's output, safe to print.
func OutputLines(output string) []string {
	output = terminal.Visible(strings.TrimRight(Plain(visible.Tail(output, maxOutput)), "\r\n "))
	output = strings.ReplaceAll(strings.TrimLeft(output, "\n"), "\t", "    ")
	if output == "" {
		return nil
	}
	return strings.Split(output, "\n")
}
