package sdk

import "context"

// OnConfig makes a hook at config. A plugin outside the host can change models, prompts and limits, but neither permission rules nor
// addresses and programs that receive keys.
func OnConfig(f func(ctx context.Context, in *ConfigInput, v *Config) error) Hook {
	return newHook(PointConfig, transform[ConfigInput, Config](f))
}

// OnCommand makes a hook at command.execute.before.
func OnCommand(f func(ctx context.Context, in *CommandInput, v *CommandValue) error) Hook {
	return newHook(PointCommand, transform[CommandInput, CommandValue](f))
}

// OnChatMessage makes a hook at chat.message.
func OnChatMessage(f func(ctx context.Context, in *ChatMessageInput, v *ChatMessageValue) error) Hook {
	return newHook(PointChatMessage, transform[ChatMessageInput, ChatMessageValue](f))
}

// OnToolDefinition makes a hook at tool.definition.
func OnToolDefinition(f func(ctx context.Context, in *ToolDefinitionInput, v *ToolDefinitionValue) error) Hook {
	return newHook(PointToolDefinition, transform[ToolDefinitionInput, ToolDefinitionValue](f))
}

// OnChatMessages makes a hook at chat.messages.transform.
func OnChatMessages(f func(ctx context.Context, in *ChatInput, v *ChatMessagesValue) error) Hook {
	return newHook(PointChatMessages, transform[ChatInput, ChatMessagesValue](f))
}

// OnChatSystem makes a hook at chat.system.transform.
func OnChatSystem(f func(ctx context.Context, in *ChatInput, v *ChatSystemValue) error) Hook {
	return newHook(PointChatSystem, transform[ChatInput, ChatSystemValue](f))
}

// AddToPrompt makes a hook at chat.system.transform that adds a text to the system prompt, unless it is empty. The hook reads nothing
// and cannot change texts of other hooks.
func AddToPrompt(f func(in *ChatInput) string) Hook {
	return OnChatSystem(func(_ context.Context, in *ChatInput, v *ChatSystemValue) error {
		if text := f(in); text != "" {
			v.System = append(v.System, text)
		}
		return nil
	}).Reading().Writing("/system/-")
}

// OnChatParams makes a hook at chat.params.
func OnChatParams(f func(ctx context.Context, in *ChatInput, v *ChatParams) error) Hook {
	return newHook(PointChatParams, transform[ChatInput, ChatParams](f))
}

// OnChatHeaders makes a hook at chat.headers.
func OnChatHeaders(f func(ctx context.Context, in *ChatInput, v *ChatHeadersValue) error) Hook {
	return newHook(PointChatHeaders, transform[ChatInput, ChatHeadersValue](f))
}

// OnToolBefore makes a hook at tool.execute.before. It may refuse the call with Deny or Halt.
func OnToolBefore(f func(ctx context.Context, in *ToolInput, v *ToolBeforeValue) error) Hook {
	return newHook(PointToolBefore, transform[ToolInput, ToolBeforeValue](f))
}

// OnShellEnv makes a hook at shell.env. A plugin outside the host lists the variables that it sets in Writes, each as /env/NAME. Variables
// that make programs run code, such as PATH, BASH_ENV and LD_PRELOAD, are refused.
func OnShellEnv(f func(ctx context.Context, in *ShellEnvInput, v *ShellEnvValue) error) Hook {
	return newHook(PointShellEnv, transform[ShellEnvInput, ShellEnvValue](f))
}

// OnToolAfter makes a hook at tool.execute.after.
func OnToolAfter(f func(ctx context.Context, in *ToolAfterInput, v *ToolAfterValue) error) Hook {
	return newHook(PointToolAfter, transform[ToolAfterInput, ToolAfterValue](f))
}

// OnTextComplete makes a hook at text.complete.
func OnTextComplete(f func(ctx context.Context, in *TextCompleteInput, v *TextCompleteValue) error) Hook {
	return newHook(PointTextComplete, transform[TextCompleteInput, TextCompleteValue](f))
}

// OnCompacting makes a hook at session.compacting.
func OnCompacting(f func(ctx context.Context, in *CompactingInput, v *CompactingValue) error) Hook {
	return newHook(PointCompacting, transform[CompactingInput, CompactingValue](f))
}

// OnAutocontinue makes a hook at compaction.autocontinue.
func OnAutocontinue(f func(ctx context.Context, in *AutocontinueInput, v *AutocontinueValue) error) Hook {
	return newHook(PointAutocontinue, transform[AutocontinueInput, AutocontinueValue](f))
}

// OnSmallModel makes a hook at provider.small_model.
func OnSmallModel(f func(ctx context.Context, in *SmallModelInput, v *SmallModelValue) error) Hook {
	return newHook(PointSmallModel, transform[SmallModelInput, SmallModelValue](f))
}

// OnEvent makes a hook at event.
func OnEvent(f func(ctx context.Context, in *Event) error) Hook {
	return newHook(PointEvent, observe[Event](f))
}

// OnSessionStart makes a hook at session.start.
func OnSessionStart(f func(ctx context.Context, in *SessionInput) error) Hook {
	return newHook(PointSessionStart, observe[SessionInput](f))
}

// OnSessionEnd makes a hook at session.end.
func OnSessionEnd(f func(ctx context.Context, in *SessionInput) error) Hook {
	return newHook(PointSessionEnd, observe[SessionInput](f))
}

// OnPermissionAsk makes a gate at permission.ask.
func OnPermissionAsk(f func(ctx context.Context, in *PermissionRequest) (Decision, error)) Hook {
	return newHook(PointPermissionAsk, permissionGate(f))
}

// OnTurnStop makes a gate at turn.stop.
func OnTurnStop(f func(ctx context.Context, in *TurnStopInput) (StopDecision, error)) Hook {
	return newHook(PointTurnStop, stopGate(f))
}
