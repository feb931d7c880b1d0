package tools

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// Limits of a tool's output in the conversation; opencode's figures.
const (
	defaultOutputLines = 2000
	defaultOutputBytes = 50 * 1024
)

// FitOutput returns the output for the conversation. An output that is too large is stored, by its hash, and replaced by a preview with a
// note on how to read the rest.
func FitOutput(cfg sdk.ToolOutputConfig, r *sdk.ToolResult) (string, sdk.Object, [][]byte) {
	metadata := r.Metadata
	lines, size := OutputLimits(cfg)
	if _, own := metadata["truncated"]; own {
		lines, size = lines*2, size*2 // the tool already cut the output and added a note, which may exceed the limit
	}
	output := strings.ToValidUTF8(r.Output, "�")
	kept := CutOutput(output, lines, size, r.KeepTail)
	if len(kept) == len(output) {
		if metadata["truncated"] == nil {
			metadata = live.WithKey(metadata, "truncated", false)
		}
		return output, metadata, nil
	}
	content := []byte(output)
	path := store.OutputPrefix + store.Hash(content)
	metadata = live.WithKey(live.WithKey(metadata, "truncated", true), "outputPath", path)
	note := fmt.Sprintf("[%d of %d bytes shown. The whole output: read with filePath %q, offset and limit]", len(kept), len(output), path)
	if r.KeepTail {
		return note + "\n" + kept, metadata, [][]byte{content}
	}
	return kept + "\n" + note, metadata, [][]byte{content}
}

// OutputLimits returns the maximum lines and bytes of a tool's output in the conversation.
func OutputLimits(cfg sdk.ToolOutputConfig) (lines, size int) {
	return cmp.Or(max(cfg.MaxLines, 0), defaultOutputLines), cmp.Or(max(cfg.MaxBytes, 0), defaultOutputBytes)
}

// CutOutput returns at most so many lines and bytes of s, from its start or its end: whole lines, unless they would be less than half of it.
func CutOutput(s string, lines, size int, tail bool) string {
	if tail {
		return cutTail(s, lines, size)
	}
	end := 0
	for n := 0; n < lines && end < len(s); n++ {
		line := cmp.Or(strings.IndexByte(s[end:], '\n')+1, len(s)-end)
		if end+line > size {
			if end < size/2 { // a long line: cut it
				end += len(visible.Cut(s[end:], size-end, ""))
			}
			break
		}
		end += line
	}
	return s[:end]
}

func cutTail(s string, lines, size int) string {
	start := len(s)
	for n := 0; n < lines && start > 0; n++ {
		before := strings.LastIndexByte(s[:start-1], '\n') + 1
		if len(s)-before > size {
			if len(s)-start < size/2 {
				start = len(s) - len(visible.Tail(s, size))
			}
			break
		}
		start = before
	}
	return s[start:]
}
