package conformance_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/internal/conformance"
	"github.com/tenonhq/tenon/sdk"
	"github.com/tenonhq/tenon/sdk/sdktest"
)

// parallelCalls is the number of concurrent calls of one plugin.
const parallelCalls = 64

// systemCase is a plugin with one hook at chat.system.transform.
func systemCase(t *testing.T, o conformance.Options) Case {
	t.Helper()
	return newCase(t, o, sdk.HookDescription{Point: string(sdk.PointChatSystem), Reads: []string{""}, Writes: []string{""}})
}

// state: what a plugin keeps in memory is seen by the sessions it may be seen by.
func (s *suite) state() map[string]func(t *testing.T) {
	if !s.has(sdk.PointChatSystem) {
		return nil
	}
	return map[string]func(t *testing.T){"sessions": func(t *testing.T) {
		script := conformance.Script{Count: "/system/0"}
		k := systemCase(t, conformance.Options{Hooks: map[string]conformance.Script{string(sdk.PointChatSystem): script}})
		f := newFiring(t, member{s.carrier.Name, open(t, s.carrier, k, sdktest.Options{}).Plugin()})
		var got []string
		for _, session := range []string{"ses_a", "ses_a", "ses_b", "ses_a", "ses_b"} {
			v := valueOf(sdk.PointChatSystem).(*sdk.ChatSystemValue)
			f.fire(sdk.PointChatSystem, forSession(sdk.PointChatSystem, session), v)
			got = append(got, v.System[0])
		}
		want := []string{"1", "2", "3", "4", "5"}
		if s.carrier.Isolated {
			want = []string{"1", "2", "1", "3", "2"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("calls counted in memory (-want +got):\n%s", diff)
		}
	}}
}

// concurrency: concurrent calls do not mix.
func (s *suite) concurrency() map[string]func(t *testing.T) {
	if !s.has(sdk.PointChatSystem) {
		return nil
	}
	return map[string]func(t *testing.T){
		"one session":   func(t *testing.T) { s.parallel(t, func(int) string { return sessionID }) },
		"many sessions": func(t *testing.T) { s.parallel(t, func(i int) string { return fmt.Sprintf("ses_%d", i%8) }) },
	}
}

func (s *suite) parallel(t *testing.T, session func(i int) string) {
	point := sdk.PointChatSystem
	script := conformance.Script{Input: "/system/0", Value: "/system/1"}
	k := newCase(t, conformance.Options{Hooks: map[string]conformance.Script{string(point): script}},
		sdk.HookDescription{Point: string(point), Reads: []string{""}, Writes: []string{""}, TimeoutMS: sdk.MaxHookTimeout.Milliseconds()})
	f := newFiring(t, member{s.carrier.Name, open(t, s.carrier, k, sdktest.Options{}).Plugin()})
	var wg sync.WaitGroup
	for i := range parallelCalls {
		wg.Go(func() {
			in, own := forSession(point, session(i)).(*sdk.ChatInput), fmt.Sprintf("own-%d-own", i)
			in.Agent = own
			v := &sdk.ChatSystemValue{System: []string{own, ""}}
			o := f.fire(point, in, v)
			if o.Err != "" || !strings.Contains(v.System[0], `"agent":"`+own+`"`) || !strings.Contains(v.System[1], own) {
				t.Errorf("call %d: error %q, saw input %.200s, value %.200s", i, o.Err, v.System[0], v.System[1])
			}
		})
	}
	wg.Wait()
	if told := f.told.all(); len(told) > 0 {
		t.Errorf("notices = %+v, want none", told)
	}
}

// starts: the plugin gets its options and the project, and a plugin that does not start returns the reason.
func (s *suite) starts() map[string]func(t *testing.T) {
	return map[string]func(t *testing.T){
		"options and project": func(t *testing.T) {
			k := systemCase(t, conformance.Options{Start: conformance.Script{Record: "start", Reason: exotic}})
			project := sdk.Project{
				ID: "abc", Directory: "/a/b", Worktree: "/a", Home: "/home/" + exotic, ConfigDir: "/config", DataDir: "/data", Git: true,
			}
			h := open(t, s.carrier, k, sdktest.Options{Project: project})
			want := conformance.Started{Options: k.Options, Project: project}
			var got conformance.Started
			if err := json.Unmarshal([]byte(recorded(t, s.carrier, h, "start")), &got); err != nil {
				t.Fatal(err)
			}
			if got.Project.Home == "" { // a carrier may keep what is the user's own from a plugin
				want.Project.Home, want.Project.ConfigDir, want.Project.DataDir = "", "", ""
			}
			if diff := cmp.Diff(toJSON(t, want), toJSON(t, got)); diff != "" {
				t.Errorf("start data of the plugin (-want +got):\n%s", diff)
			}
		},
		"no options": func(t *testing.T) {
			k := systemCase(t, conformance.Options{})
			k.Options = nil
			s.works(t, open(t, s.carrier, k, sdktest.Options{}), sdk.PointChatSystem)
		},
		"failure": func(t *testing.T) {
			s.startFails(t, conformance.Options{Start: conformance.Script{Error: "no start: " + exotic}}, "no start: "+exotic)
		},
		"close without start": func(t *testing.T) {
			p := s.carrier.Open(t, systemCase(t, conformance.Options{}))
			for range 2 {
				if err := p.Close(t.Context()); err != nil {
					t.Errorf("Close = %v", err)
				}
			}
		},
		"close twice": func(t *testing.T) {
			h := open(t, s.carrier, systemCase(t, conformance.Options{}), sdktest.Options{})
			s.works(t, h, sdk.PointChatSystem)
			for range 2 {
				if err := h.Plugin().Close(t.Context()); err != nil {
					t.Errorf("Close = %v", err)
				}
			}
		},
	}
}

// startFails checks that the error is returned when the plugin is started, or when it is first called.
func (s *suite) startFails(t *testing.T, o conformance.Options, text string) {
	t.Helper()
	k := systemCase(t, o)
	p := s.carrier.Open(t, k)
	h := sdktest.New(p, sdktest.Options{Options: k.Options})
	t.Cleanup(func() {
		if err := p.Close(within(t)); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	if err := h.Start(t.Context()); err != nil {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("Start = %v, want %q", err, text)
		}
		return
	}
	f := newFiring(t, member{s.carrier.Name, p})
	f.fire(sdk.PointChatSystem, chatInput(), valueOf(sdk.PointChatSystem))
	if entry := f.ledger.Entries()[0]; !strings.Contains(entry.Error, text) {
		t.Errorf("the first call = %+v, want the error %q", entry, text)
	}
}
