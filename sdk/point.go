package sdk

// Point names a place in the loop at which hooks run.
type Point string

// The hook points. docs/hooks.md describes each.
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
