package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/tenonhq/tenon/host"
	"github.com/tenonhq/tenon/sdk"
)

// thinking is how long the model of the benchmark takes to answer after a call; that of a user takes longer.
const thinking = 50 * time.Millisecond

// BenchmarkShellStep is a turn with one shell call in a repository of 5,000 files, with and without snapshots, and with a reading
// call instead. The model answers at once, or after a time in which the state after the call is taken.
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
	for name, c := range map[string]struct {
		on, writes, reads, thinks bool
	}{"off": {}, "on": {on: true}, "thinking, off": {thinks: true}, "thinking, on": {on: true, thinks: true}, "thinking, on, writing": {on: true, thinks: true, writes: true}, "on, writing": {on: true, writes: true}, "on, reading": {on: true, reads: true}, "off, reading": {reads: true}} {
		b.Run(name, func(b *testing.B) {
			k := startWork(b, w, b.TempDir(), func(o *host.Options) { o.Config.Snapshot = &c.on })
			act := func() {}
			if c.writes {
				n := 0
				act = func() { n++; k.write("d0/s0/written", fmt.Sprint(name, n)) }
			}
			k.turn(k.session(), k.bash, act)
			for b.Loop() {
				if c.reads {
					k.model.on(sdk.PurposeTurn, call("read", `{}`), say("ok"))
					k.prompt("go on")
					continue
				}
				if c.thinks {
					k.bash.act = act
					k.model.on(sdk.PurposeTurn, call("bash", `{}`), slowly("ok"))
					k.prompt("go on")
					continue
				}
				k.turn(k.session(), k.bash, act)
			}
		})
	}
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
