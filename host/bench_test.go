package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/host/live"
	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// streamFunc is a model made of one function. It costs nothing itself.
type streamFunc func(req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error

// Stream calls the function.
func (f streamFunc) Stream(_ context.Context, req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
	return f(req, sink)
}

func finish(sink func(sdk.StreamEvent) error) error {
	return sink(sdk.StreamEvent{Type: sdk.StreamFinish, Reason: sdk.FinishStop, Tokens: sdk.Tokens{Input: 1000, Output: 100}})
}

// steps is a model that calls the tool noop in each of the next n steps and then answers. Arguments differ,
// or the calls would be taken for a loop. at, if not nil, receives the time of each request to the model.
func steps(n int, at func(step int)) streamFunc {
	step := 0
	return func(req *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
		if at != nil {
			at(step)
		}
		step++
		if step%(n+1) == 0 {
			if err := sink(sdk.StreamEvent{Type: sdk.StreamText, ID: "t", Text: "Done."}); err != nil {
				return err
			}
			return finish(sink)
		}
		id := fmt.Sprintf("call_%d", step)
		if err := sink(sdk.StreamEvent{Type: sdk.StreamText, ID: "t", Text: "Now the next one."}); err != nil {
			return err
		}
		err := sink(sdk.StreamEvent{Type: sdk.StreamToolCall, ID: id, CallID: id, Tool: "noop", Text: fmt.Sprintf(`{"n":%d}`, step)})
		if err != nil {
			return err
		}
		return finish(sink)
	}
}

func noop() *tool {
	result := &sdk.ToolResult{Title: "noop", Output: strings.Repeat("some output\n", 20)}
	return &tool{id: "noop", schema: `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`,
		run: func(context.Context, *sdk.ToolCall) (*sdk.ToolResult, error) { return result, nil }}
}

// benchKit starts a host with a model, on the durable store.
func benchKit(b *testing.B, client sdk.ModelClient) *kit {
	p := base(nil)
	p.client, p.tools = client, []sdk.Tool{noop()}
	return start(b, nil, p)
}

// BenchmarkToolStep is the host's work per step of a turn of 20 steps, each with one call of a tool that
// does nothing. Every step is durable before its tool runs.
func BenchmarkToolStep(b *testing.B) {
	const n = 20
	k := benchKit(b, steps(n, nil))
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		id := k.titled()
		b.StartTimer()
		k.again(id, "go")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*(n+1)), "ns/step")
}

// BenchmarkStepCost compares the host's work of step 200 of one turn with that of step 10.
func BenchmarkStepCost(b *testing.B) {
	const n, window = 210, 10
	var early, late time.Duration
	var last time.Time
	k := benchKit(b, steps(n, func(step int) {
		now, s := time.Now(), step%(n+1)
		switch {
		case s > 5 && s <= 5+window:
			early += now.Sub(last)
		case s > 195 && s <= 195+window:
			late += now.Sub(last)
		}
		last = now
	}))
	for b.Loop() {
		k.again(k.titled(), "go")
	}
	b.ReportMetric(float64(early.Nanoseconds())/float64(b.N*window), "ns/step10")
	b.ReportMetric(float64(late.Nanoseconds())/float64(b.N*window), "ns/step200")
	b.ReportMetric(float64(late)/float64(early), "ratio")
}

// BenchmarkDeltas20000 is an answer of 20,000 text deltas, from the model to the store. cpu-s/op is the CPU
// time of the whole process.
func BenchmarkDeltas20000(b *testing.B) {
	k := benchKit(b, streamFunc(func(_ *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
		for range 20_000 {
			if err := sink(sdk.StreamEvent{Type: sdk.StreamText, ID: "t", Text: "word "}); err != nil {
				return err
			}
		}
		return finish(sink)
	}))
	b.ReportAllocs()
	before := cpuTime(b)
	for b.Loop() {
		k.again(k.titled(), "go")
	}
	b.ReportMetric((cpuTime(b)-before).Seconds()/float64(b.N), "cpu-s/op")
}

// BenchmarkIdlePlugins is a host's start and its first turn, without and with ten plugins of others that have hooks and tools and
// nothing to do.
func BenchmarkIdlePlugins(b *testing.B) {
	for _, n := range []int{0, 10} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k := benchKit(b, streamFunc(func(_ *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error { return finish(sink) }))
			id, own := k.titled(), k.opts.Plugins
			for b.Loop() {
				o := k.opts
				o.Plugins = append([]sdk.Plugin{}, own...)
				for i := range n {
					name := fmt.Sprintf("idle%d", i)
					o.Plugins = append(o.Plugins, &plugin{name: name, carrier: sdk.CarrierWASM, tools: []sdk.Tool{echo(name)},
						hooks: []sdk.Hook{sdk.OnTurnStop(func(context.Context, *sdk.TurnStopInput) (sdk.StopDecision, error) { return sdk.StopDecision{}, nil })}})
				}
				h, err := host.New(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := h.Prompt(b.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
					b.Fatal(err)
				}
				if err := h.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOpenSession2000 continues a session of 2,000 messages in a host that does not know it, up to the request to the model.
func BenchmarkOpenSession2000(b *testing.B) {
	asked := make(chan time.Time, 1)
	answer := streamFunc(func(_ *sdk.ModelRequest, sink func(sdk.StreamEvent) error) error {
		asked <- time.Now()
		return finish(sink)
	})
	k := benchKit(b, answer)
	id := k.titled()
	fill(b, k, id, 1000)
	var took time.Duration
	for b.Loop() {
		b.StopTimer()
		p := base(nil)
		p.client = answer
		o := k.opts
		o.Plugins = []sdk.Plugin{p}
		h, err := host.New(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		begun := time.Now()
		if _, err := h.Prompt(b.Context(), host.PromptInput{SessionID: id, Text: "go"}); err != nil {
			b.Fatal(err)
		}
		took += (<-asked).Sub(begun)
		b.StopTimer()
		if err := h.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms-to-model")
}

// fill stores n exchanges: a prompt, and an answer with a tool call.
func fill(b *testing.B, k *kit, id string, n int) {
	b.Helper()
	token, err := k.store.Claim(b.Context(), id)
	if err != nil {
		b.Fatal(err)
	}
	ids := &live.IDs{}
	for i := range n {
		user := &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: ids.New(sdk.PrefixMessage), SessionID: id}, Agent: "build", Time: sdk.MessageTime{Created: 1}}
		step := &sdk.AssistantMessage{
			MessageHead: sdk.MessageHead{ID: ids.New(sdk.PrefixMessage), SessionID: id}, ParentID: user.ID, Agent: "build",
			ModelID: "m", ProviderID: "test", Finish: sdk.FinishStop, Time: sdk.MessageTime{Created: 1, Completed: 2},
		}
		part := func(m sdk.Message) sdk.PartHead {
			return sdk.PartHead{ID: ids.New(sdk.PrefixPart), SessionID: id, MessageID: m.Head().ID}
		}
		ops := []store.Op{
			store.PutMessage{Message: user}, store.PutPart{Part: &sdk.TextPart{PartHead: part(user), Text: fmt.Sprintf("prompt %d", i)}},
			store.PutMessage{Message: step}, store.PutPart{Part: &sdk.StepStartPart{PartHead: part(step)}},
			store.PutPart{Part: &sdk.TextPart{PartHead: part(step), Text: strings.Repeat("an answer ", 20), Time: &sdk.PartTime{Start: 1, End: 2}}},
			store.PutPart{Part: &sdk.ToolPart{PartHead: part(step), CallID: ids.New("call"), Tool: "noop", State: sdk.ToolState{
				Status: sdk.ToolCompleted, Input: []byte(`{"n":1}`), Output: strings.Repeat("output ", 40), Time: sdk.ToolTime{Start: 1, End: 2},
			}}},
			store.PutPart{Part: &sdk.StepFinishPart{PartHead: part(step), Reason: sdk.FinishStop}},
		}
		if _, err := k.store.Append(b.Context(), token, ops); err != nil {
			b.Fatal(err)
		}
	}
	if err := k.store.Release(b.Context(), token); err != nil {
		b.Fatal(err)
	}
}
