package ask

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tenonhq/tenon/hooks"
	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/model"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// Setup holds the agent, the model and the rules that answer a prompt, or a separate request. It is made once and never changed.
type Setup struct {
	Generation *generation.Set
	Project    sdk.Project
	Version    string // of tenon
	SessionID  string
	ParentID   string // of a subagent's session
	Agent      sdk.Agent
	Prompt     string // the agent's system prompt, or the default one for the model
	AgentPath  string // the names of the agent and its parents, such as "build/explore"
	Model      *model.Model
	Rules      *permission.Rules
	Subagents  string // list for the description of the task tool
	Purpose    sdk.Purpose
	// NoReasoning is the number of messages, from the first, that are sent without reasoning because the server refused it.
	NoReasoning *atomic.Int64
}

// As returns the setup for another agent, model and purpose.
func (s *Setup) As(agent sdk.Agent, m *model.Model, purpose sdk.Purpose) *Setup {
	c := *s
	c.Agent, c.Model, c.Purpose = agent, m, purpose
	c.Prompt = agent.Prompt
	if c.Prompt == "" {
		c.Prompt = s.Generation.DefaultPrompt(&m.Model)
	}
	return &c
}

// OpenModel returns the model for an agent: the one with the name, the agent's, the fallback, or the default. byRepository reports that files
// of the repository chose the name.
func OpenModel(ctx context.Context, set *generation.Set, a *sdk.Agent, name string, byRepository bool, fallback string) (*model.Model, error) {
	byAgent := false
	if name == "" && a.Model != nil {
		name, byAgent = a.Model.String(), true
		byRepository = set.ChoosesAgentModel(a)
	}
	name = cmp.Or(name, fallback)
	m, err := set.Models.Open(ctx, name, byRepository)
	if err != nil && byAgent {
		origin := cmp.Or(a.Origin, "of a plugin")
		if set.Config.Agent[a.Name].Model != "" {
			origin = sdk.OriginConfiguration
		}
		return nil, fmt.Errorf("agent %q (%s) names its model: %w", a.Name, origin, err)
	}
	return m, err
}

// SmallModel returns the small model that goes with the setup's.
func (s *Setup) SmallModel(ctx context.Context) (*model.Model, error) {
	small, err := s.Generation.Models.Small(ctx, s.Model.Model)
	if err != nil {
		return nil, err
	}
	return s.Generation.Models.Open(ctx, small.Ref().String(), false)
}

// Request returns a request before the hooks, without messages. variant is the model's; empty means the agent's.
func (s *Setup) Request(system []string, variant string) *sdk.ModelRequest {
	return &sdk.ModelRequest{
		Model: s.Model.Sent(), SessionID: s.SessionID, Purpose: s.Purpose, System: system, Params: s.params(variant), Headers: s.headers(),
	}
}

// Transform runs the chat hooks over a request and converts the messages for the model. user is the message that is answered, step the number
// of the turn's step; 0 for a separate request. cache may be nil.
func (s *Setup) Transform(ctx context.Context, req *sdk.ModelRequest, user *sdk.UserMessage, step int, messages []sdk.MessageWithParts, l *hooks.Ledger, cache *convert.Cache) error {
	in := &sdk.ChatInput{
		SessionID: s.SessionID, Agent: s.Agent.Name, Model: model.ForHooks(&req.Model), Provider: model.ProviderRef(&s.Model.Provider), Message: user,
		Purpose: req.Purpose, Step: step,
	}
	mv := &sdk.ChatMessagesValue{Messages: messages}
	if err := s.Generation.Fire(ctx, sdk.PointChatMessages, l, "", in, mv); err != nil {
		return err
	}
	if cache == nil || s.Model.TextOnly() || s.Generation.Engine.Has(sdk.PointChatMessages) { // hooks may have changed any message; the cache has files
		cache = &convert.Cache{}
	}
	req.Messages = cache.Messages(mv.Messages, &req.Model)
	sv := &sdk.ChatSystemValue{System: req.System}
	if err := s.Generation.Fire(ctx, sdk.PointChatSystem, l, "", in, sv); err != nil {
		return err
	}
	req.System = sv.System
	if err := s.Generation.Fire(ctx, sdk.PointChatParams, l, "", in, &req.Params); err != nil {
		return err
	}
	hv := &sdk.ChatHeadersValue{Headers: req.Headers}
	if err := s.Generation.Fire(ctx, sdk.PointChatHeaders, l, "", in, hv); err != nil {
		return err
	}
	req.Headers, req.Step = hv.Headers, step
	return nil
}

// System returns the system prompt before the hooks: the agent's, the environment, and the user's own.
func (s *Setup) System(user string) []string {
	out := []string{s.Prompt, s.environment()}
	if user != "" {
		out = append(out, user)
	}
	return out
}

func (s *Setup) environment() string {
	p := s.Project
	git := map[bool]string{false: "no", true: "yes"}[p.Git]
	return fmt.Sprintf("<env>\nModel: %s\nWorking directory: %s\nProject root: %s\nGit repository: %s\nPlatform: %s\nToday: %s\n</env>",
		s.Model.Ref(), p.Directory, p.Worktree, git, runtime.GOOS, time.Now().Format("Mon Jan 2 2006"))
}

// CheckVariant warns about a variant that the model does not have.
func (s *Setup) CheckVariant(variant string, log *slog.Logger) {
	if _, ok := s.Model.Variants[variant]; !ok && variant != "" {
		log.Warn("unknown variant ignored", "model", s.Model.Ref(), "variant", variant,
			"variants", strings.Join(slices.Sorted(maps.Keys(s.Model.Variants)), " "))
	}
}

// params returns the parameters before the hooks: the model's options, then the variant's, then the
// agent's, the later ones winning. A title needs no reasoning.
func (s *Setup) params(variant string) sdk.ChatParams {
	m := &s.Model.Model
	p := sdk.ChatParams{
		TopP: cmp.Or(s.Agent.TopP, m.Sampling.TopP), TopK: m.Sampling.TopK, MaxOutputTokens: model.OutputLimit(m), Options: sdk.Object{},
	}
	if m.Temperature {
		p.Temperature = cmp.Or(s.Agent.Temperature, m.Sampling.Temperature)
	}
	if variant = cmp.Or(variant, s.Agent.Variant); s.Purpose == sdk.PurposeTitle {
		variant = model.LeastEffort(m)
	}
	for _, o := range []sdk.Object{m.Options, m.Variants[variant], s.Agent.Options} {
		maps.Copy(p.Options, o)
	}
	return p
}

// headers returns the headers before the hooks. Their names are opencode's, which gateways know.
func (s *Setup) headers() map[string]string {
	h := map[string]string{
		"X-Session-Id": s.SessionID, "X-Session-Affinity": s.SessionID, "User-Agent": "tenon/" + s.Version,
	}
	if s.ParentID != "" {
		h["X-Parent-Session-Id"] = s.ParentID
	}
	for name := range model.Merged(s.Model.Provider.Headers, s.Model.Headers) {
		delete(h, http.CanonicalHeaderKey(name)) // the configured header takes precedence
	}
	maps.Copy(h, s.Model.Headers)
	return h
}
