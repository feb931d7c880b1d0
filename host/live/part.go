package live

import (
	"cmp"
	"maps"

	"github.com/tenonhq/tenon/internal/visible"
	"github.com/tenonhq/tenon/sdk"
)

// CopyMessage returns a shallow copy: maps and slices are replaced by the host, never changed in place.
func CopyMessage(m sdk.Message) sdk.Message {
	switch m := m.(type) {
	case *sdk.UserMessage:
		return new(*m)
	case *sdk.AssistantMessage:
		return new(*m)
	}
	return m
}

// CopyPart returns a shallow copy of the kinds of parts that change after they were made.
func CopyPart(p sdk.Part) sdk.Part {
	switch p := p.(type) {
	case *sdk.TextPart:
		return new(*p)
	case *sdk.ReasoningPart:
		return new(*p)
	case *sdk.ToolPart:
		return new(*p)
	}
	return p
}

// Interruption is the reason for closing open parts: of a call that had not started, and of a running call.
type Interruption struct{ Pending, Running string }

var (
	interruptedByCrash = Interruption{
		Pending: "interrupted before it ran",
		Running: "outcome unknown: the turn was cut off while the call ran; it was not run again",
	}
	// InterruptedByAbort is for turns that the user ended.
	InterruptedByAbort = Interruption{
		Pending: "tool execution aborted before it ran",
		Running: "tool execution aborted",
	}
	// InterruptedByFailure is for turns that ended with an error.
	InterruptedByFailure = Interruption{
		Pending: "the turn failed before the call ran",
		Running: "the turn failed while the call ran",
	}
	interruptedByCut = Interruption{
		Pending: "the answer broke off before the call was complete; it did not run",
		Running: "the answer broke off before the call was complete; it did not run",
	}
)

// ClosePart ends an open part in place and reports whether it was open.
func ClosePart(p sdk.Part, why Interruption) bool {
	switch p := p.(type) {
	case *sdk.TextPart:
		if p.Time == nil || p.Time.End != 0 {
			return false
		}
		p.Time = &sdk.PartTime{Start: p.Time.Start, End: Now()}
		return true
	case *sdk.ReasoningPart:
		if p.Time.End != 0 {
			return false
		}
		p.Time.End = Now()
		return true
	case *sdk.ToolPart:
		if !p.State.Open() {
			return false
		}
		text := why.Running
		if p.State.Status == sdk.ToolPending {
			text = why.Pending
		}
		p.State = sdk.ToolState{
			Status: sdk.ToolError, Input: p.State.Input, Error: text, Metadata: WithKey(p.State.Metadata, "interrupted", true),
			Time: sdk.ToolTime{Start: cmp.Or(p.State.Time.Start, Now()), End: Now()},
		}
		return true
	}
	return false
}

// IgnorePart closes a part of a broken answer, cuts its text and marks it as ignored: the model does not get it. It reports whether the part
// changed.
func IgnorePart(p sdk.Part) bool {
	if Ignored(p) {
		return false
	}
	ClosePart(p, interruptedByCut)
	switch p := p.(type) {
	case *sdk.TextPart:
		p.Text, p.Ignored = visible.Cut(p.Text, MaxCutText, "…"), true
	case *sdk.ReasoningPart:
		p.Text, p.Metadata = visible.Cut(p.Text, MaxCutText, "…"), WithKey(p.Metadata, ignoredKey, true)
	case *sdk.ToolPart:
		p.Metadata = WithKey(p.Metadata, ignoredKey, true)
	default:
		return false
	}
	return true
}

// Ignored reports whether the model does not get the part.
func Ignored(p sdk.Part) bool {
	switch p := p.(type) {
	case *sdk.TextPart:
		return p.Ignored
	case *sdk.ReasoningPart:
		return p.Metadata[ignoredKey] == true
	case *sdk.ToolPart:
		return p.Metadata[ignoredKey] == true
	}
	return false
}

// MaxCutText bounds each text of an ignored part, in bytes: the rest would be useless.
const MaxCutText = 64 << 10

// ignoredKey marks reasoning and tool parts of a broken answer in their metadata.
const ignoredKey = "ignored"

// WithKey returns a copy of o with one more field. It copies because parts that were recorded must not change.
func WithKey(o sdk.Object, key string, value any) sdk.Object {
	c := make(sdk.Object, len(o)+1)
	maps.Copy(c, o)
	c[key] = value
	return c
}
