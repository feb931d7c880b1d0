package conformance

import (
	"context"

	"github.com/tenonhq/tenon/sdk"
)

// hooks returns one hook for each point and a second one at chat.system.transform.
func (p *Plugin) hooks() []sdk.Hook {
	again := sdk.OnChatSystem(transform[sdk.ChatInput, sdk.ChatSystemValue](p, Again))
	again.Name = Again
	before := sdk.OnToolBefore(transform[sdk.ToolInput, sdk.ToolBeforeValue](p, string(sdk.PointToolBefore)))
	before.Handler = &excessive{before.Handler, p, string(sdk.PointToolBefore)}
	return []sdk.Hook{
		sdk.OnConfig(transform[sdk.ConfigInput, sdk.Config](p, string(sdk.PointConfig))),
		sdk.OnEvent(observe[sdk.Event](p, string(sdk.PointEvent))),
		sdk.OnSessionStart(observe[sdk.SessionInput](p, string(sdk.PointSessionStart))),
		sdk.OnCommand(transform[sdk.CommandInput, sdk.CommandValue](p, string(sdk.PointCommand))),
		sdk.OnChatMessage(transform[sdk.ChatMessageInput, sdk.ChatMessageValue](p, string(sdk.PointChatMessage))),
		sdk.OnToolDefinition(transform[sdk.ToolDefinitionInput, sdk.ToolDefinitionValue](p, string(sdk.PointToolDefinition))),
		sdk.OnChatMessages(transform[sdk.ChatInput, sdk.ChatMessagesValue](p, string(sdk.PointChatMessages))),
		sdk.OnChatSystem(transform[sdk.ChatInput, sdk.ChatSystemValue](p, string(sdk.PointChatSystem))),
		again,
		sdk.OnChatParams(transform[sdk.ChatInput, sdk.ChatParams](p, string(sdk.PointChatParams))),
		sdk.OnChatHeaders(transform[sdk.ChatInput, sdk.ChatHeadersValue](p, string(sdk.PointChatHeaders))),
		before,
		sdk.OnPermissionAsk(p.permission),
		sdk.OnShellEnv(transform[sdk.ShellEnvInput, sdk.ShellEnvValue](p, string(sdk.PointShellEnv))),
		sdk.OnToolAfter(transform[sdk.ToolAfterInput, sdk.ToolAfterValue](p, string(sdk.PointToolAfter))),
		sdk.OnTextComplete(transform[sdk.TextCompleteInput, sdk.TextCompleteValue](p, string(sdk.PointTextComplete))),
		sdk.OnCompacting(transform[sdk.CompactingInput, sdk.CompactingValue](p, string(sdk.PointCompacting))),
		sdk.OnAutocontinue(transform[sdk.AutocontinueInput, sdk.AutocontinueValue](p, string(sdk.PointAutocontinue))),
		sdk.OnSmallModel(transform[sdk.SmallModelInput, sdk.SmallModelValue](p, string(sdk.PointSmallModel))),
		sdk.OnTurnStop(p.stop),
		sdk.OnSessionEnd(observe[sdk.SessionInput](p, string(sdk.PointSessionEnd))),
	}
}

// transform returns the handler of a transform, which refuses if its script says so.
func transform[I, V any](p *Plugin, hook string) func(context.Context, *I, *V) error {
	return func(ctx context.Context, in *I, v *V) error {
		s, err := p.run(ctx, hook, in, v)
		switch {
		case err != nil:
			return err
		case s.Verdict == sdk.VerdictDeny:
			return sdk.Deny(s.Reason)
		case s.Verdict == sdk.VerdictHalt:
			return sdk.Halt(s.Reason)
		}
		return nil
	}
}

func observe[I any](p *Plugin, hook string) func(context.Context, *I) error {
	return func(ctx context.Context, in *I) error {
		_, err := p.run(ctx, hook, in, nil)
		return err
	}
}

func (p *Plugin) permission(ctx context.Context, in *sdk.PermissionRequest) (sdk.Decision, error) {
	s, err := p.run(ctx, string(sdk.PointPermissionAsk), in, nil)
	return sdk.Decision{Verdict: s.Verdict, Reason: s.Reason}, err
}

func (p *Plugin) stop(ctx context.Context, in *sdk.TurnStopInput) (sdk.StopDecision, error) {
	s, err := p.run(ctx, string(sdk.PointTurnStop), in, nil)
	return sdk.StopDecision{Continue: s.Verdict == sdk.VerdictContinue, Message: s.Message, Reason: s.Reason}, err
}
