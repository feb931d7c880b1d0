package view

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/sdk"
)

var update = flag.Bool("update", false, "write the golden files")

// TestViews shows recorded events in every view. A new case is a new file of events in testdata.
func TestViews(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.events")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded events: %v", err)
	}
	for _, file := range files {
		events := readEvents(t, file)
		for name, show := range map[string]func([]sdk.Event) string{"terminal": onTerminal, "plain": plainly, "raw": raw, "piped": piped, "quiet": quietly, "json": asJSON} {
			t.Run(filepath.Base(file)+"/"+name, func(t *testing.T) {
				t.Parallel()
				golden(t, strings.TrimSuffix(file, ".events")+"."+name+".golden", show(events))
			})
		}
	}
}

func readEvents(t *testing.T, file string) []sdk.Event {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var events []sdk.Event
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		var e sdk.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		events = append(events, e)
	}
	return events
}

func golden(t *testing.T, file, have string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(have), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), have); diff != "" {
		t.Errorf("%s (-want +have):\n%s", file, diff)
	}
}

// frozen is the time of all recorded turns.
func frozen() time.Time { return time.UnixMilli(10_000) }

func shownTurn() *Turn {
	return &Turn{Session: &sdk.Session{ID: "ses_root"}, Directory: "/proj", Retries: 5, Clean: strings.TrimSpace}
}

// outcomeOf is how the recorded turn ended: with the last text of the root session.
func outcomeOf(events []sdk.Event) *Outcome {
	o := &Outcome{Took: 83 * time.Second}
	for _, e := range events {
		p, ok := e.Properties.(*sdk.PartInfo)
		if !ok || p.SessionID != "ses_root" {
			continue
		}
		if text, ok := p.Part.(*sdk.TextPart); ok {
			o.Message = &sdk.MessageWithParts{
				Info:  &sdk.AssistantMessage{MessageHead: sdk.MessageHead{ID: text.MessageID, SessionID: "ses_root"}, Finish: sdk.FinishStop},
				Parts: sdk.Parts{text},
			}
		}
	}
	return o
}

// onTerminal returns what a terminal with colours gets; escape characters are written as ␛.
func onTerminal(events []sdk.Event) string {
	var out bytes.Buffer
	s := &terminal.Screen{Color: true, Rich: true, Live: true, Streams: true, Out: &out, Width: func() int { return 60 }}
	v := NewText(s, &out, &out, shownTurn(), false)
	play(v, events)
	s.Close()
	return strings.ReplaceAll(out.String(), "\x1b", "␛")
}

// plainly returns what a terminal without colours gets from a chat, which only appends.
func plainly(events []sdk.Event) string {
	var out bytes.Buffer
	s := &terminal.Screen{Rich: true, Streams: true, Out: &out, Width: func() int { return 60 }}
	turn := shownTurn()
	turn.InChat = true
	v := NewText(s, &out, &out, turn, false)
	play(v, events)
	s.Close()
	return out.String()
}

// raw returns what a terminal gets with --raw.
func raw(events []sdk.Event) string {
	var out bytes.Buffer
	s := &terminal.Screen{Rich: true, Streams: true, Out: &out, Width: func() int { return 60 }}
	turn := shownTurn()
	turn.Raw = true
	v := NewText(s, &out, &out, turn, false)
	play(v, events)
	s.Close()
	return out.String()
}

// piped returns what stderr and stdout get without a terminal.
func piped(events []sdk.Event) string {
	var out, errs bytes.Buffer
	s := &terminal.Screen{Out: &errs, Width: func() int { return 60 }}
	v := NewText(s, &out, &errs, shownTurn(), false)
	play(v, events)
	return errs.String() + "--- stdout ---\n" + out.String()
}

// quietly returns the same with --quiet.
func quietly(events []sdk.Event) string {
	var out, errs bytes.Buffer
	s := &terminal.Screen{Out: &errs, Width: func() int { return 60 }}
	v := NewText(s, &out, &errs, shownTurn(), true)
	play(v, events)
	return errs.String() + "--- stdout ---\n" + out.String()
}

func play(v *Text, events []sdk.Event) {
	v.now = frozen
	for i := range events {
		v.Event(&events[i])
		v.Tick(frozen())
	}
	_ = v.Finish(outcomeOf(events))
}

func asJSON(events []sdk.Event) string {
	var out bytes.Buffer
	v := &JSON{out: Escaper{&out}, turn: shownTurn(), f: newFollower("ses_root"), now: frozen, written: map[string]bool{}}
	for i := range events {
		v.Event(&events[i])
	}
	_ = v.Finish(outcomeOf(events))
	return out.String()
}
