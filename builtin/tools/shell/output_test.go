package shell

import (
	"strings"
	"testing"
	"time"
)

func TestOutput(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writes []int // sizes
		left   string
	}{
		"nothing":          {nil, ""},
		"small":            {[]int{1, 2, 3}, ""},
		"exactly the head": {[]int{headBytes}, ""},
		"exactly all":      {[]int{headBytes, tailBytes}, ""},
		"one too many":     {[]int{headBytes, tailBytes, 1}, "[... 1 bytes left out ...]"},
		"one huge":         {[]int{3 * (headBytes + tailBytes)}, "[... 2097152 bytes left out ...]"},
		"many":             {repeat(1000, 5000), "bytes left out ...]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, all := &output{}, []byte{}
			for _, n := range c.writes {
				piece := make([]byte, n)
				for i := range piece {
					piece[i] = 'a' + byte((len(all)+i)%23)
				}
				all = append(all, piece...)
				if got, err := o.Write(piece); got != n || err != nil {
					t.Fatalf("Write = %d, %v", got, err)
				}
			}
			got := o.String()
			if c.left == "" {
				if got != string(all) {
					t.Errorf("String() is not what was written")
				}
			} else if !strings.Contains(got, c.left) || !strings.HasPrefix(got, string(all[:headBytes])) || !strings.HasSuffix(got, string(all[len(all)-tailBytes:])) {
				t.Errorf("String() misses the head, the tail or %q", c.left)
			}
			for _, n := range []int{1, 100, liveBytes} {
				if last, want := o.last(n), string(all[max(0, len(all)-n):]); last != want {
					t.Errorf("last(%d) has %d bytes, want the last %d", n, len(last), len(want))
				}
			}
			if cap(o.text) > 4*(headBytes+tailBytes) {
				t.Errorf("holds %d bytes", cap(o.text))
			}
		})
	}
}

// A reader of news sees all that is written, and no state twice.
func TestNews(t *testing.T) {
	t.Parallel()
	const lines = 20_000
	o, seen, done := &output{}, "", make(chan struct{})
	go func() { // ends with its writes; the loop below waits
		defer close(done)
		for range lines {
			_, _ = o.Write([]byte("x\n"))
		}
	}()
	for writing := true; writing; {
		select {
		case <-done:
			writing = false
		default:
		}
		text, grown := o.news(2 * lines)
		if !grown {
			continue
		}
		if len(text) <= len(seen) || !strings.HasPrefix(text, seen) {
			t.Fatalf("news = %d bytes after %d", len(text), len(seen))
		}
		seen = text
	}
	if len(seen) != 2*lines {
		t.Errorf("saw %d bytes", len(seen))
	}
}

// A cut output begins with a whole line or, if it has only one, a whole character.
func TestOutputCut(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		"äöü": "ü", "10\n20\n": "20\n", "10\n2\n": "…\n2\n", "1\n\n": "1\n\n",
	} {
		o := &output{}
		_, _ = o.Write([]byte(written))
		if got := o.last(3); got != want {
			t.Errorf("the last 3 bytes of %q = %q, want %q", written, got, want)
		}
	}
}

// TestSequences: colors and links are for terminals.
func TestSequences(t *testing.T) {
	t.Parallel()
	const text = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\a\x1b[2K. [0m \x1b"
	if got := readable([]byte(text)); got != "red link. [0m \x1b" {
		t.Errorf("readable(%q) = %q", text, got)
	}
}

func repeat(n, value int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = value
	}
	return out
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for given, want := range map[float64]time.Duration{0: DefaultTimeout, 1.5e6: 25 * time.Minute, 1e300: 1e12 * time.Millisecond} {
		if got := (bashArgs{Timeout: given}).timeout(); got != want {
			t.Errorf("timeout %g = %s, want %s", given, got, want)
		}
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	bar := strings.Repeat("\r 50%|#####     |", 40)
	for text, want := range map[string]string{
		"a\nb":                      "a\nb",
		"a\r\nb\r\n":                "a\r\nb\r\n",
		"a\rb\rc\n":                 "a\rb\rc\n", // few: perhaps not progress
		"start" + bar + "\ndone\n":  "[39 earlier texts of this line left out] start\r 50%|#####     |\ndone\n",
		"start" + bar + "\r\ndone":  "[39 earlier texts of this line left out] start\r 50%|#####     |\r\ndone",
		"x\n" + bar + "\r     \rok": "x\n[39 earlier texts of this line left out]  50%|#####     |\rok",
		bar + "error: x" + bar:      "[77 earlier texts of this line left out]  50%|#####     |\r 50%|#####     |error: x\r 50%|#####     |",
		"id,name\r1,Ann\r2,Ben\r3,Cy\r4,Di\r5,Eve\r6,Flo": "id,name\r1,Ann\r2,Ben\r3,Cy\r4,Di\r5,Eve\r6,Flo",
		strings.Repeat("5%\r   \r", 9):                    "[8 earlier texts of this line left out] 5%\r",
		strings.Repeat("2026-01-02,ok\r", 9):              strings.Repeat("2026-01-02,ok\r", 9),
		strings.Repeat("1,2\r", 9):                        strings.Repeat("1,2\r", 9),
	} {
		if got := settled(text); got != want {
			t.Errorf("settled(%.40q) = %q, want %q", text, got, want)
		}
	}
}
