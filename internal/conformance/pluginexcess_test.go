package conformance

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tenonhq/tenon/internal/value"
	"github.com/tenonhq/tenon/sdk"
)

// Excess is an answer that exceeds a limit. Handlers written with the sdk never return one.
type Excess string

// The excesses, each of an answer that changes the value of tool.execute.before.
const (
	ExcessSegments Excess = "segments" // a pointer of a million segments
	ExcessPointer  Excess = "pointer"  // a pointer of a megabyte
	ExcessChanges  Excess = "changes"  // a hundred thousand changes
	ExcessDepth    Excess = "depth"    // a value that is nested 9,000 levels deep
	ExcessBytes    Excess = "bytes"    // a value larger than an answer may be
	ExcessMembers  Excess = "members"  // an object with more members than there may be changes
)

// Excesses returns all of them.
func Excesses() []Excess {
	return []Excess{ExcessSegments, ExcessPointer, ExcessChanges, ExcessDepth, ExcessBytes, ExcessMembers}
}

// changes makes the answer.
func (e Excess) changes() []sdk.Change {
	one := func(pointer, value string) []sdk.Change {
		return []sdk.Change{{Pointer: pointer, Value: json.RawMessage(value)}}
	}
	switch e {
	case ExcessSegments:
		return one("/args"+strings.Repeat("/a", 1<<20), "1")
	case ExcessPointer:
		return one("/args/"+strings.Repeat("a", 1<<20), "1")
	case ExcessChanges:
		list := make([]sdk.Change, 100_000)
		for i := range list {
			list[i] = sdk.Change{Pointer: "/args/a", Value: json.RawMessage("1")}
		}
		return list
	case ExcessDepth:
		return one("/args/a", strings.Repeat(`{"a":`, 9000)+"1"+strings.Repeat("}", 9000))
	case ExcessBytes:
		return one("/args/a", `"`+strings.Repeat("x", value.MaxAnswerBytes)+`"`)
	case ExcessMembers:
		var b strings.Builder
		for i := range 2 * value.MaxAnswerChanges {
			b.WriteString(`,"k` + strconv.Itoa(i) + `":1`)
		}
		return one("/args", "{"+b.String()[1:]+"}")
	}
	return nil
}

// excessive is a handler that answers with the excess in its script.
type excessive struct {
	sdk.Handler
	plugin *Plugin
	hook   string
}

// Handle returns the answer of the handler, or the excess. A guest sends these changes; in this process the engine ignores them.
func (h *excessive) Handle(ctx context.Context, call *sdk.HookCall) (sdk.Answer, error) {
	answer, err := h.Handler.Handle(ctx, call)
	if e := h.plugin.options.Hooks[h.hook].Excess; err == nil && e != "" {
		answer.Changes = e.changes()
	}
	return answer, err
}
