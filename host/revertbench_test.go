package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// thinking is how long the model of the benchmark takes to answer after a call; that of a user takes longer.
const thinking = 50 * time.Millisecond

// BenchmarkShellStep is a turn with one call of a shell, or of a reading tool, in a repository of 5,000 files, with snapshots and
// without by turns. It reports what the turns take without (off-ms) and how much more with them (more-ms), each as a median. The
// model thinks before the answer that follows the call, or gives it at once: then nothing runs beside the state after the call.
func BenchmarkShellStep(b *testing.B) {
	w := newWorktree(b)
	old := time.Now().Add(-time.Hour)
	for i := range 5000 {
		name := fmt.Sprintf("d%d/s%d/f%d.txt", i%10, i%100, i)
		w.write(name, fmt.Sprintf("file %d\n", i))
		if err := os.Chtimes(w.path(name), old, old); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name                  string
		writes, reads, thinks bool
	}{
		{name: "thinking", thinks: true}, {name: "thinking, writing", thinks: true, writes: true},
		{name: "at once"}, {name: "at once, writing", writes: true},
		{name: "reading", reads: true},
	} {
		b.Run(c.name, func(b *testing.B) {
			var took [2][]time.Duration
			sides := [2]*shellStep{newShellStep(b, w, false), newShellStep(b, w, true)}
			for n := 0; b.Loop(); n++ {
				for i := range 2 {
					side := (i + n) % 2 // neither is always the first
					took[side] = append(took[side], sides[side].take(c.writes, c.reads, c.thinks))
				}
			}
			off := median(took[0])
			b.ReportMetric(off, "off-ms")
			b.ReportMetric(median(took[1])-off, "more-ms")
		})
	}
}

// shellStep is a host with snapshots or without.
type shellStep struct {
	*work
	turns int
}

func newShellStep(b *testing.B, w *worktree, on bool) *shellStep {
	s := &shellStep{work: startWork(b, w, b.TempDir(), func(o *host.Options) { o.Config.Snapshot = &on })}
	for range 2 { // the first state of all is made once for each project
		s.take(false, false, false)
	}
	return s
}

// take runs a turn and returns how long it took.
func (s *shellStep) take(writes, reads, thinks bool) time.Duration {
	s.turns++
	s.bash.act = func() {
		if writes {
			s.write("d0/s0/written", fmt.Sprint(s.turns))
		}
	}
	tool, last := "bash", say("ok")
	if reads {
		tool = "read"
	}
	if thinks {
		last = slowly("ok")
	}
	s.model.on(sdk.PurposeTurn, call(tool, `{}`), last)
	begun := time.Now()
	s.prompt("go on")
	return time.Since(begun)
}

// median returns the middle one in milliseconds.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2]) / float64(time.Millisecond)
}

// slowly is an answer that takes its time.
func slowly(text string) answer {
	a := answer{text: text, begun: make(chan struct{}), hold: make(chan struct{})}
	go func() { // ends with the answer
		<-a.begun
		<-time.After(thinking)
		close(a.hold)
	}()
	return a
}

// BenchmarkRevert takes 100 files back and forth, beside what plain git takes to check out as many.
func BenchmarkRevert(b *testing.B) {
	k := newWork(b, nil)
	for i := range 100 {
		k.write(fmt.Sprintf("d%d/f%d.txt", i%10, i), "before")
	}
	id := k.session()
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", k.worktree.dir, "-c", "user.name=u", "-c", "user.email=u@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	git("add", "-A")
	git("commit", "-q", "-m", "before")
	k.turn(id, k.bash, func() {
		for i := range 100 {
			k.write(fmt.Sprintf("d%d/f%d.txt", i%10, i), "after")
		}
	})
	git("add", "-A")
	git("commit", "-q", "-m", "after")
	b.Run("revert", func(b *testing.B) {
		for b.Loop() {
			k.revert(host.RevertOptions{SessionID: id})
			b.StopTimer()
			k.unrevert(id)
			b.StartTimer()
		}
	})
	b.Run("git checkout", func(b *testing.B) {
		for b.Loop() {
			git("checkout", "-q", "HEAD~1", "--", ".")
			b.StopTimer()
			git("checkout", "-q", "HEAD", "--", ".")
			b.StartTimer()
		}
	})
}
