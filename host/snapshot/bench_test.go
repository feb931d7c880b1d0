package snapshot_test

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// BenchmarkTake takes the state of 5,000 files in which nothing, one file or one name has changed, beside what git needs to say so.
func BenchmarkTake(b *testing.B) {
	p := newProject(b)
	old := time.Now().Add(-time.Hour)
	for i := range 5000 {
		name := fmt.Sprintf("d%d/s%d/f%d.txt", i%10, i%100, i)
		p.write(name, fmt.Sprintf("file %d\n", i))
		if err := os.Chtimes(p.path(name), old, old); err != nil {
			b.Fatal(err)
		}
	}
	p.git("add", ".")
	p.take()
	n := 0
	for _, one := range []struct {
		name string
		do   func()
	}{
		{"nothing", func() {}},
		{"a file changed", func() { n++; p.write("d0/s0/f0.txt", fmt.Sprint(n)) }},
		{"a file came", func() { n++; p.write(fmt.Sprintf("d1/s1/new%d", n), fmt.Sprint(n)) }},
	} {
		b.Run(one.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				one.do()
				b.StartTimer()
				p.take()
			}
		})
	}
	b.Run("git status", func(b *testing.B) {
		for b.Loop() {
			p.git("status", "--porcelain")
		}
	})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			p.data = b.TempDir()
			p.open()
			b.StartTimer()
			p.take()
		}
	})
}
