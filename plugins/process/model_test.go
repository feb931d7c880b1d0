package process_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/plugins/process"
	"github.com/tenonhq/tenon/sdk"
)

func clientOf(t *testing.T, p sdk.Plugin, protocol, key string) sdk.ModelClient {
	t.Helper()
	for _, candidate := range p.(sdk.ProtocolSource).Protocols() {
		if candidate.Name == protocol {
			client, err := candidate.Open(sdk.ProviderInfo{ID: "acme", BaseURL: "https://acme.test", Key: key})
			if err != nil {
				t.Fatal(err)
			}
			return client
		}
	}
	t.Fatalf("protocol %q not found", protocol)
	return nil
}

// ask sends a request and returns the text of the answer and its last event.
func ask(ctx context.Context, client sdk.ModelClient, model string) (text string, last sdk.StreamEvent, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err = client.Stream(ctx, &sdk.ModelRequest{SessionID: "ses_1", Model: sdk.Model{ID: model}}, func(e sdk.StreamEvent) error {
		text += e.Text
		last = e
		return nil
	})
	return text, last, err
}

func TestModel(t *testing.T) { eachWire(t, testModel) }

func testModel(t *testing.T, w wire) {
	p := w.started(t, unbounded(), "plain", nil)
	if got := p.(sdk.ProviderSource).Providers(); len(got) != 1 || got[0].ID != "acme" || got[0].Env[0] != "ACME_KEY" {
		t.Errorf("providers %+v", got)
	}
	if got := p.(sdk.AgentSource).Agents(); len(got) != 1 || got[0].Name != "poet" {
		t.Errorf("agents %+v", got)
	}
	client := clientOf(t, p, "acme", "k-1")

	text, last, err := ask(t.Context(), client, "fine")
	if err != nil || text != "k-1 https://acme.test ses_1" || last.Type != sdk.StreamFinish || last.Tokens.Output != 7 {
		t.Errorf("%q, %+v, %v", text, last, err)
	}

	_, _, err = ask(t.Context(), client, "limited")
	var got *sdk.ProviderError
	if !errors.As(err, &got) {
		t.Fatal(err)
	}
	want := *acmeError
	want.Body = "{\"error\":\"\uFFFD\"}" // bytes that are not text cannot be carried
	if diff := cmp.Diff(want, *got, cmp.Comparer(func(a, b error) bool { return a.Error() == b.Error() })); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}

	failures := map[string]struct {
		model, want string
	}{
		"plain": {"plain-error", "out of paper"},
		"panic": {"throw", "panic: boom"},
	}
	for name, tt := range failures {
		_, _, err := ask(t.Context(), client, tt.model)
		var got *sdk.ProviderError
		if !errors.As(err, &got) || got.ProviderID != "acme" || got.Cut || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %#v", name, err)
		}
	}

	var crash sync.WaitGroup
	err = client.Stream(t.Context(), &sdk.ModelRequest{Model: sdk.Model{ID: "wait"}}, func(sdk.StreamEvent) error {
		crash.Go(func() { _, _ = callHook(t, p, "exit") })
		return nil
	})
	crash.Wait()
	if !errors.As(err, &got) || !got.Cut || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("crashed: %#v", err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	err = client.Stream(ctx, &sdk.ModelRequest{Model: sdk.Model{ID: "wait"}}, func(sdk.StreamEvent) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	full := errors.New("no more")
	err = client.Stream(t.Context(), &sdk.ModelRequest{Model: sdk.Model{ID: "wait"}}, func(sdk.StreamEvent) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("error of the sink: %v", err)
	}
}

// While the host works on an event of a model's answer, such as in a hook at text.complete, other calls of the process get their answers.
func TestHookDuringAnswer(t *testing.T) { eachWire(t, testHookDuringAnswer) }

func testHookDuringAnswer(t *testing.T, w wire) {
	p := w.started(t, unbounded(), "plain", nil)
	if _, err := callHook(t, p, "warm"); err != nil {
		t.Fatal(err)
	}
	events := 0
	err := clientOf(t, p, "acme", "k").Stream(t.Context(), &sdk.ModelRequest{Model: sdk.Model{ID: "many"}}, func(sdk.StreamEvent) error {
		if events++; events > 1 {
			return nil
		}
		<-time.After(100 * time.Millisecond) // the other events arrive
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := callHookIn(ctx, t, p, "warm")
		return err
	})
	if err != nil || events != 202 {
		t.Errorf("%d events, error %v", events, err)
	}
}

// Closing the plugin does not wait for the receiver of a model's answer.
func TestCloseDuringAnswer(t *testing.T) { eachWire(t, testCloseDuringAnswer) }

func testCloseDuringAnswer(t *testing.T, w wire) {
	p := w.started(t, process.Options{StopTimeout: 400 * time.Millisecond}, "plain", nil)
	client, blocked, release, answered := clientOf(t, p, "acme", "k"), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() { // ends with release
		answered <- client.Stream(t.Context(), &sdk.ModelRequest{Model: sdk.Model{ID: "endless"}}, func(sdk.StreamEvent) error {
			select {
			case <-blocked:
			default:
				close(blocked)
			}
			<-release
			return nil
		})
	}()
	<-blocked
	closed := make(chan error, 1)
	go func() { closed <- p.Close(t.Context()) }() // awaited below
	select {
	case err := <-closed:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Close waits for the receiver")
	}
	close(release)
	if err := <-answered; !errors.Is(err, process.ErrEnded) {
		t.Errorf("the answer ended with %v", err)
	}
}

func TestListModels(t *testing.T) { eachWire(t, testListModels) }

func testListModels(t *testing.T, w wire) {
	p := w.started(t, process.Options{}, "plain", nil)
	list := func(protocol, key string) ([]sdk.Model, error) {
		return clientOf(t, p, protocol, key).(sdk.ModelLister).ListModels(t.Context())
	}
	if models, err := list("acme", "k"); err != nil || len(models) != 2 || models[1].ID != "two" {
		t.Errorf("%+v, %v", models, err)
	}
	var failed *sdk.ProviderError
	if _, err := list("acme", ""); !errors.As(err, &failed) || failed.StatusCode != 401 || failed.ProviderID != "acme" {
		t.Errorf("%#v", err)
	}
	if _, err := list("mute", "k"); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := list("broken", "k"); err == nil || !strings.Contains(err.Error(), "no base URL") {
		t.Error(err)
	}
}

// An answer that does not follow the rules is an error, and what came of it counts as cut.
func TestBadModelAnswers(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"rawtypes":     "event of a model's answer",
		"rawcrowd":     "more than 1048576 JSON values",
		"rawflood":     "after the finish event",
		"rawtruncated": "without a finish event",
	}
	for kind, want := range tests {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			spec := guestSpec(t, kind)
			spec.Description = rawDescription(kind)
			_, _, err := ask(t.Context(), clientOf(t, started(t, process.Options{}, spec, nil), "raw", ""), "m")
			var got *sdk.ProviderError
			if !errors.As(err, &got) || !got.Cut || !strings.Contains(err.Error(), want) {
				t.Errorf("%#v, want %q", err, want)
			}
		})
	}
}
