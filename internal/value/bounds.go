package value

import (
	"errors"
	"fmt"
	"strings"
)

// Bounds of the answer of a hook outside this process. They hold for every carrier and are checked in one place, CheckAnswer.
const (
	// MaxAnswerBytes bounds an answer: pointers, values and texts together. It is what one message of the process and MCP carriers
	// may hold.
	MaxAnswerBytes = 16 << 20
	// MaxAnswerChanges bounds the changes of one answer, also after an object was divided into its declared members. A hook that
	// redacts every part of a long conversation needs about a thousand.
	MaxAnswerChanges = 4096
	// MaxPointerSegments and MaxPointerBytes bound the pointer of a change. The deepest place the contract names,
	// /messages/0/parts/0/state/metadata, has six segments; what is left is for the user's own JSON below it.
	MaxPointerSegments = 64
	MaxPointerBytes    = 4 << 10
	// MaxAnswerText bounds the reason and the message of an answer, in bytes, each five times what a tool's output has in the conversation:
	// the model, the terminal and the ledger get them whole.
	MaxAnswerText = 256 << 10
	// MaxAnswerDepth bounds how deep objects and arrays may be nested in a value.
	MaxAnswerDepth = 256
	// maxReread bounds the JSON that Apply, or Lookup of several pointers, reads again because no Go type holds it, in bytes: fields
	// that this version does not know, and unknown parts. Once for each part of a very long conversation fits four times.
	maxReread = 64 << 20
)

// ErrBounds means that an answer exceeds one of the bounds above.
var ErrBounds = errors.New("too large an answer")

// CheckAnswer returns an error that wraps ErrBounds when an answer with these changes and texts exceeds a bound. It reads the answer
// once.
func CheckAnswer[C change](answer []C, reason, message string) error {
	changes := as[Change](answer)
	size := len(reason) + len(message)
	if text := max(len(reason), len(message)); text > MaxAnswerText {
		return fmt.Errorf("%w: a reason or message of %d bytes, at most %d are taken", ErrBounds, text, MaxAnswerText)
	}
	if len(changes) > MaxAnswerChanges {
		return fmt.Errorf("%w: %d changes, at most %d are taken", ErrBounds, len(changes), MaxAnswerChanges)
	}
	for i := range changes {
		c := &changes[i]
		if len(c.Pointer) > MaxPointerBytes {
			return fmt.Errorf("%w: a pointer of %d bytes, at most %d are taken", ErrBounds, len(c.Pointer), MaxPointerBytes)
		}
		if n := strings.Count(c.Pointer, "/"); n > MaxPointerSegments {
			return fmt.Errorf("%w: a pointer of %d segments, at most %d are taken", ErrBounds, n, MaxPointerSegments)
		}
		size += len(c.Pointer) + len(c.Value)
		if tooDeep(c.Value, MaxAnswerDepth) {
			return fmt.Errorf("%w: the value at %q is nested deeper than %d levels", ErrBounds, c.Pointer, MaxAnswerDepth)
		}
	}
	if size > MaxAnswerBytes {
		return fmt.Errorf("%w: %d bytes, at most %d are taken", ErrBounds, size, MaxAnswerBytes)
	}
	return nil
}

// tooDeep reports whether brackets in JSON are nested deeper than limit.
func tooDeep(raw []byte, limit int) bool {
	depth, text := 0, false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			text = !text
		case '\\':
			i++ // within a text, or it is no JSON
		case '{', '[':
			if !text {
				depth++
			}
		case '}', ']':
			if !text {
				depth--
			}
		}
		if depth > limit {
			return true
		}
	}
	return false
}

// reread counts the JSON that is read again.
type reread int

// spend takes n bytes of the bound.
func (r *reread) spend(n int) error {
	*r += reread(n)
	if *r > maxReread {
		return fmt.Errorf("%w: its changes make more than %d MiB be read again; replace whole fields instead", ErrBounds, maxReread>>20)
	}
	return nil
}
