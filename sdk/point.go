package sdk

import (
	"strings"
)

// Point is a named place in the loop where plugins are called.
type Point string

// The hook points.
const (
	PointConfig         Point = "config"
	PointEvent          Point = "event"
	PointSessionStart   Point = "session.start"
	PointSessionEnd     Point = "session.end"
	PointChatMessage    Point = "chat.message"
	PointCommand        Point = "command.execute.before"
	PointChatMessages   Point = "chat.messages.transform"
	PointChatSystem     Point = "chat.system.transform"
	PointChatParams     Point = "chat.params"
	PointChatHeaders    Point = "chat.headers"
	PointToolDefinition Point = "tool.definition"
	PointToolBefore     Point = "tool.execute.before"
	PointPermissionAsk  Point = "permission.ask"
	PointShellEnv       Point = "shell.env"
	PointToolAfter      Point = "tool.execute.after"
	PointTextComplete   Point = "text.complete"
	PointTurnStop       Point = "turn.stop"
	PointCompacting     Point = "session.compacting"
	PointAutocontinue   Point = "compaction.autocontinue"
	PointSmallModel     Point = "provider.small_model"
)

// Kind is what hooks may do at a point.
type Kind string

// The kinds of points.
const (
	KindObserve   Kind = "observe"   // told, cannot change anything
	KindTransform Kind = "transform" // gets a value, returns a new one
	KindGate      Kind = "gate"      // allows, denies, asks or abstains
)

// PointInfo describes a hook point.
type PointInfo struct {
	Point   Point
	Kind    Kind
	MayDeny bool // a transform that may refuse (Deny, Halt)
	Summary string
	// NewInput returns a pointer to a new input of the point, NewValue one to a new value; both are what
	// HookCall holds and what carriers decode into. NewValue is nil where the kind has no value.
	NewInput func() any
	NewValue func() any
}

// Points returns the table of all hook points, in the order a turn passes them.
func Points() []PointInfo { return points[:] }

// PointOf returns the description of a point by its name; the prefix "experimental." that opencode
// uses is accepted.
func PointOf(name string) (PointInfo, bool) {
	name = strings.TrimPrefix(name, "experimental.")
	for _, p := range points {
		if string(p.Point) == name {
			return p, true
		}
	}
	return PointInfo{}, false
}

func fresh[T any]() any { return new(T) }

var points = [...]PointInfo{
	{PointConfig, KindTransform, false, "the merged configuration, once at start", fresh[ConfigInput], fresh[Config]},
	{PointEvent, KindObserve, false, "every event of the bus", fresh[Event], nil},
	{PointSessionStart, KindObserve, false, "a session was created or taken up again", fresh[SessionInput], nil},
	{PointCommand, KindTransform, false, "a command's template was expanded", fresh[CommandInput], fresh[CommandValue]},
	{PointChatMessage, KindTransform, false, "a user message, before it is stored", fresh[ChatMessageInput], fresh[ChatMessageValue]},
	{PointToolDefinition, KindTransform, false, "a tool's description and schema, at every step, for tools of every origin", fresh[ToolDefinitionInput], fresh[ToolDefinitionValue]},
	{PointChatMessages, KindTransform, false, "the messages of a model request; changes are not stored", fresh[ChatInput], fresh[ChatMessagesValue]},
	{PointChatSystem, KindTransform, false, "the system prompt of a model request", fresh[ChatInput], fresh[ChatSystemValue]},
	{PointChatParams, KindTransform, false, "the parameters of a model request", fresh[ChatInput], fresh[ChatParams]},
	{PointChatHeaders, KindTransform, false, "extra HTTP headers of a model request", fresh[ChatInput], fresh[ChatHeadersValue]},
	{PointToolBefore, KindTransform, true, "a tool call's arguments, before they are checked", fresh[ToolInput], fresh[ToolBeforeValue]},
	{PointPermissionAsk, KindGate, false, "leave for a tool call, with the exact bytes that will run", fresh[PermissionRequest], nil},
	{PointShellEnv, KindTransform, false, "the environment of a shell command", fresh[ShellEnvInput], fresh[ShellEnvValue]},
	{PointToolAfter, KindTransform, false, "a tool call's result, whatever its outcome", fresh[ToolAfterInput], fresh[ToolAfterValue]},
	{PointTextComplete, KindTransform, false, "a finished block of the model's text", fresh[TextCompleteInput], fresh[TextCompleteValue]},
	{PointCompacting, KindTransform, false, "the prompt of a compaction", fresh[CompactingInput], fresh[CompactingValue]},
	{PointAutocontinue, KindTransform, false, "whether to go on after an automatic compaction", fresh[AutocontinueInput], fresh[AutocontinueValue]},
	{PointSmallModel, KindTransform, false, "the model for titles, when none is configured", fresh[SmallModelInput], fresh[SmallModelValue]},
	{PointTurnStop, KindGate, false, "the end of a turn: let it stop, or go on with a message", fresh[TurnStopInput], nil},
	{PointSessionEnd, KindObserve, false, "the host is done with a session", fresh[SessionInput], nil},
}
