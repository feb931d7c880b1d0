// Package hookpoint is the table of hook points, with the kind, input type and value type of each. The hook engine and the carriers use
// it. It also finds the session in a hook's input.
package hookpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenonhq/tenon/sdk"
)

// Kind is the role of hooks at a point.
type Kind string

// The kinds of points.
const (
	KindObserve   Kind = "observe"   // receives data, changes nothing
	KindTransform Kind = "transform" // changes a value
	KindGate      Kind = "gate"      // allows, denies, asks or abstains
)

// Info describes a hook point.
type Info struct {
	Point   sdk.Point
	Kind    Kind
	MayDeny bool // whether a transform may refuse (sdk.Deny, sdk.Halt)
	Summary string
	// NewInput returns a pointer to a new input of the point, and NewValue a pointer to a new value. Carriers decode into them; their
	// types are those in sdk.HookCall. NewValue is nil if the kind has no value.
	NewInput func() any
	NewValue func() any
}

// All returns the table of all hook points, in the order a turn passes them.
func All() []Info { return points[:] }

// Of returns the description of a point by its name. It accepts opencode's prefix "experimental.".
func Of(name string) (Info, bool) {
	name = strings.TrimPrefix(name, "experimental.")
	for _, p := range points {
		if string(p.Point) == name {
			return p, true
		}
	}
	return Info{}, false
}

func fresh[T any]() any { return new(T) }

var points = [...]Info{
	{sdk.PointConfig, KindTransform, false, "the merged configuration, once at start", fresh[sdk.ConfigInput], fresh[sdk.Config]},
	{sdk.PointEvent, KindObserve, false, "every event that the host publishes", fresh[sdk.Event], nil},
	{sdk.PointSessionStart, KindObserve, false, "a session was created or resumed", fresh[sdk.SessionInput], nil},
	{sdk.PointCommand, KindTransform, false, "a command's template was expanded", fresh[sdk.CommandInput], fresh[sdk.CommandValue]},
	{sdk.PointChatMessage, KindTransform, false, "a user message, before it is stored", fresh[sdk.ChatMessageInput], fresh[sdk.ChatMessageValue]},
	{sdk.PointToolDefinition, KindTransform, false, "the description and schema of each tool, at every step", fresh[sdk.ToolDefinitionInput], fresh[sdk.ToolDefinitionValue]},
	{sdk.PointChatMessages, KindTransform, false, "the messages of a model request; changes are not stored", fresh[sdk.ChatInput], fresh[sdk.ChatMessagesValue]},
	{sdk.PointChatSystem, KindTransform, false, "the system prompt of a model request", fresh[sdk.ChatInput], fresh[sdk.ChatSystemValue]},
	{sdk.PointChatParams, KindTransform, false, "the parameters of a model request", fresh[sdk.ChatInput], fresh[sdk.ChatParams]},
	{sdk.PointChatHeaders, KindTransform, false, "extra HTTP headers of a model request", fresh[sdk.ChatInput], fresh[sdk.ChatHeadersValue]},
	{sdk.PointToolBefore, KindTransform, true, "a tool call's arguments, before they are checked", fresh[sdk.ToolInput], fresh[sdk.ToolBeforeValue]},
	{sdk.PointPermissionAsk, KindGate, false, "permission for a tool call, with the exact bytes that will run", fresh[sdk.PermissionRequest], nil},
	{sdk.PointShellEnv, KindTransform, false, "the environment of a shell command", fresh[sdk.ShellEnvInput], fresh[sdk.ShellEnvValue]},
	{sdk.PointToolAfter, KindTransform, false, "the result of a tool call, even if it failed", fresh[sdk.ToolAfterInput], fresh[sdk.ToolAfterValue]},
	{sdk.PointTextComplete, KindTransform, false, "a finished block of the model's text", fresh[sdk.TextCompleteInput], fresh[sdk.TextCompleteValue]},
	{sdk.PointCompacting, KindTransform, false, "the prompt of a compaction", fresh[sdk.CompactingInput], fresh[sdk.CompactingValue]},
	{sdk.PointAutocontinue, KindTransform, false, "the decision to continue after an automatic compaction", fresh[sdk.AutocontinueInput], fresh[sdk.AutocontinueValue]},
	{sdk.PointSmallModel, KindTransform, false, "the model for titles, if none is configured", fresh[sdk.SmallModelInput], fresh[sdk.SmallModelValue]},
	{sdk.PointTurnStop, KindGate, false, "the end of a turn: let it stop, or continue with a message", fresh[sdk.TurnStopInput], nil},
	{sdk.PointSessionEnd, KindObserve, false, "the host has finished with a session", fresh[sdk.SessionInput], nil},
}

// Hook makes the hook described by d, to be run by h. Errors wrap sdk.ErrManifest and name the field; where precedes the field's name,
// such as "hooks[2]".
func Hook(d *sdk.HookDescription, where string, h sdk.RemoteHandler) (sdk.Hook, error) {
	info, ok := Of(d.Point)
	if !ok {
		return sdk.Hook{}, fmt.Errorf("%w: %s.point: unknown hook point %q", sdk.ErrManifest, where, d.Point)
	}
	if !slices.Contains(Policies[:], d.OnError) {
		return sdk.Hook{}, fmt.Errorf("%w: %s.onError: unknown policy %q; want skip, deny or stop", sdk.ErrManifest, where, d.OnError)
	}
	if limit := sdk.MaxHookTimeout.Milliseconds(); d.TimeoutMS < 0 || d.TimeoutMS > limit {
		return sdk.Hook{}, fmt.Errorf("%w: %s.timeout: %d; want 0 to %d milliseconds", sdk.ErrManifest, where, d.TimeoutMS, limit)
	}
	name := cmp.Or(d.Name, string(info.Point))
	return sdk.Hook{
		Point: info.Point, Name: name, Reads: d.Reads, Writes: d.Writes, Priority: d.Priority,
		Before: d.Before, After: d.After, OnError: d.OnError, Timeout: time.Duration(d.TimeoutMS) * time.Millisecond, Remote: h,
	}, nil
}

// Describe returns the description of a hook. Hooks at points without a value have no fields.
func Describe(h *sdk.Hook) sdk.HookDescription {
	d := sdk.HookDescription{
		Point: string(h.Point), Name: h.Name, Reads: h.Reads, Writes: h.Writes, Priority: h.Priority,
		Before: h.Before, After: h.After, OnError: h.OnError, TimeoutMS: h.Timeout.Milliseconds(),
	}
	if info, ok := Of(d.Point); ok && info.NewValue == nil {
		d.Reads, d.Writes = nil, nil
	}
	return d
}
