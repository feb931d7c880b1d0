package tools

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

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
	if _, own := metadata["truncated"]; own { // the tool already cut the output and added a note, which may exceed the usual limit
		lines *= 2
		if size >= defaultOutputBytes {
			size *= 2
		}
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
	note := fmt.Sprintf("[%d of %d bytes shown. For the rest, read or grep %q", len(kept), len(output), path)
	if r.KeepTail {
		return note + "]\n" + kept, metadata, [][]byte{content}
	}
	return fmt.Sprintf("%s\n%s, from line %d]", kept, note, strings.Count(visible.Fold(kept), "\n")+1), metadata, [][]byte{content}
}

// OutputLimits returns the maximum lines and bytes of a tool's output in the conversation.
func OutputLimits(cfg sdk.ToolOutputConfig) (lines, size int) {
	return cmp.Or(max(cfg.MaxLines, 0), defaultOutputLines), cmp.Or(max(cfg.MaxBytes, 0), defaultOutputBytes)
}

// Bounds returns the bounds of outputs for a model whose context has so many tokens; 0 means unknown. An output has at most as many bytes, about
// a quarter of the context.
func Bounds(cfg sdk.ToolOutputConfig, context int64) sdk.ToolOutputConfig {
	if _, size := OutputLimits(cfg); context > 0 {
		cfg.MaxBytes = int(min(int64(size), context))
	}
	return cfg
}

// CutOutput returns at most so many lines and bytes of s, from its start or its end: whole lines, unless they would be less than half of it.
func CutOutput(s string, lines, size int, tail bool) string {
	kept := ""
	for n := 0; n < lines && len(kept) < len(s); n++ {
		next := s[:len(kept)+cmp.Or(strings.IndexByte(s[len(kept):], '\n')+1, len(s)-len(kept))]
		if tail {
			next = s[strings.LastIndexByte(s[:len(s)-len(kept)-1], '\n')+1:]
		}
		switch {
		case len(next) <= size:
			kept = next
			continue
		case len(kept) >= size/2:
		case tail: // a long line: cut it
			kept = visible.Tail(s, size)
		default:
			end := size
			for end > max(len(kept), size-utf8.UTFMax) && !utf8.RuneStart(s[end]) {
				end--
			}
			kept = s[:end]
		}
		return kept
	}
	return kept
}
