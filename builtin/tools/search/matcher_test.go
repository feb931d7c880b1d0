package search

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzMatcher compares the search with matching every line on its own.
func FuzzMatcher(f *testing.F) {
	text := "func Foo() {\n\treturn\r\n}\n\n// TODO(x): ſ K k s\nfoo bar\nbar\x80baz\n"
	for _, pattern := range []string{`func`, `(?i)todo`, `(?i)ks`, `foo|bar`, `(?i)foo|BAR`, `^$`, `^\s+\w+$`, `\Afoo`, `bar\z`, `[^x]+`, `(?s).`,
		`\bret`, `\Bet`, `o{2}`, `(foo)+ b`, `x*`, `[[:upper:]]`, `{$`, `a.*z`, `�`, `(a|b|)c?`, `(?i)ba[rz]|fo`, `fo(?i)O`, `\r`, `n\r$`} {
		f.Add(pattern, text)
		f.Add(pattern, strings.Repeat(text, 200))
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		m, err := newMatcher(pattern)
		if err != nil {
			return
		}
		want, err := naive(pattern, text)
		if err != nil {
			t.Fatalf("newMatcher(%q) accepts what regexp does not: %v", pattern, err)
		}
		var got []string
		m.lines([]byte(text), func(start, end int) bool {
			got = append(got, fmt.Sprintf("%d %s", start, text[start:end]))
			return true
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("lines of %q that match %q (-want +got):\n%s", text, pattern, diff)
		}
	})
}

func naive(pattern, text string) ([]string, error) {
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return nil, err
	}
	var found []string
	at := 0
	for line := range strings.Lines(text) {
		whole := strings.TrimSuffix(line, "\n")
		if re.MatchString(whole) || re.MatchString(strings.TrimSuffix(whole, "\r")) {
			found = append(found, fmt.Sprintf("%d %s", at, whole))
		}
		at += len(line)
	}
	return found, nil
}

func TestRequiredLiterals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pattern string
		want    []string
	}{
		"literal":               {`foo`, []string{"foo"}},
		"longest of a sequence": {`a\s+longer\w`, []string{"longer"}},
		"alternatives":          {`foo|quux`, []string{"foo", "quux"}},
		"fold":                  {`(?i)TODO`, []string{"todo/i"}},
		"fold, broken at k, s":  {`(?i)task_manager`, []string{"_manager/i"}},
		"repeated":              {`(ab){2,3}`, []string{"ab"}},
		"optional":              {`(ab)?c*`, nil},
		"any alternative free":  {`ab|\d`, nil},
		"class":                 {`[ab]\d`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := newMatcher(tt.pattern)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, text := range m.find.texts {
				got = append(got, text+map[bool]string{true: "/i"}[m.find.fold])
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("literals of %q (-want +got):\n%s", tt.pattern, diff)
			}
		})
	}
}

// TestScanBlocks puts matches at the borders of blocks, where line numbers and lines could break.
func TestScanBlocks(t *testing.T) {
	t.Parallel()
	m, err := newMatcher("needle")
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{1, 7, 100, blockBytes - 1, blockBytes, blockBytes + 1, 3 * blockBytes} {
		var text bytes.Buffer
		var want []match
		for line := 1; text.Len() < 5*blockBytes; line++ {
			if line%3 == 0 {
				text.WriteString("needle")
				want = append(want, match{line, "needle"})
			} else {
				text.WriteString(strings.Repeat("x", width))
			}
			text.WriteByte('\n')
		}
		got, err := newScanner(m).scan(context.Background(), &text, len(want)+1)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(match{})); diff != "" {
			t.Errorf("lines of %d bytes (-want +got):\n%s", width, diff)
		}
	}
}

// endless is a file that never ends and has no line breaks.
type endless struct{ left int }

func (e *endless) Read(b []byte) (int, error) {
	if e.left -= len(b); e.left < 0 {
		return 0, fmt.Errorf("read on")
	}
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestScanMemory(t *testing.T) {
	t.Parallel()
	m, err := newMatcher("y")
	if err != nil {
		t.Fatal(err)
	}
	s := newScanner(m)
	if _, err := s.scan(context.Background(), &endless{left: 64 << 20}, 1); err == nil {
		t.Error("the error of the file is lost")
	}
	if len(s.buf) > maxLineBytes {
		t.Errorf("buffer of %d bytes, want at most %d", len(s.buf), maxLineBytes)
	}
}
