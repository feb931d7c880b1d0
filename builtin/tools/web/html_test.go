package web_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/tenonhq/tenon/builtin/tools/web"
)

var base = &url.URL{Scheme: "https", Host: "h.example", Path: "/d/p"}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ page, markdown, text string }{
		"headings":            {"<h1>A</h1>x<h3>B <i>c</i></h3>y", "# A\n\nx\n\n### B *c*\n\ny", "A\nx\nB c\ny"},
		"white space":         {"<p> a\n\t b&nbsp;c </p> <p>d", "a b c\n\nd", "a b c\nd"},
		"spaces in marks":     {"a<b> b </b>c <i></i><em>d</em>", "a **b** c *d*", "a b c d"},
		"nested marks":        {"<b>a<strong>b</strong>c</b><del><s>d</s></del>", "**ab**c~~d~~", "abcd"},
		"marks over blocks":   {"<b>a<p>b</b>c", "**a\n\nb**c", "a\nbc"},
		"unclosed marks":      {"<b><i>a", "***a", "a"},
		"line break":          {"a<br>b<br/><br>c", "a\nb\nc", "a\nb\nc"},
		"rule":                {"a<hr>b", "a\n\n---\n\nb", "a\nb"},
		"links":               {`<a href="x?a=(1)">a</a> <a href="//o.example">b</a> <a href="javascript:x">c</a> <a>d</a> <a href="/e"></a>`, "[a](https://h.example/d/x?a=%281%29) [b](https://o.example) c d", "a b c d"},
		"link over a block":   {`<a href="/c"><div>a</div></a>`, "[a](https://h.example/c)", "a"},
		"pictures":            {`<img src="a.png" alt=" x  y "> <img src="data:,x" alt="z">`, "![x y](https://h.example/d/a.png) z", ""},
		"lists":               {"<ul><li>a<li>b<ol><li>c<li>d</ol></ul>e", "- a\n- b\n  1. c\n  2. d\n\ne", "a\nb\nc\nd\ne"},
		"empty items":         {"<ul><li><li> <li>a</ul>", "- a", "a"},
		"paragraphs in items": {"<ol><li><p>a</p><p>b</p></li><li>c</ol>", "1. a\n\n   b\n\n2. c", "a\nb\nc"},
		"item of an item":     {"<ul><li><ul><li>a</ul>b</ul>", "  - a\n  b", "a\nb"},
		"no list":             {"<li>a<li>b", "- a\n- b", "a\nb"},
		"quotes":              {"x<blockquote><p>a</p><p>b</p><blockquote>c</blockquote></blockquote>y", "x\n\n> a\n\n> b\n\n> > c\n\ny", "x\na\nb\nc\ny"},
		"preformatted":        {"a<pre><code class='x language-go'>\n\nb\n\n  c &lt;\n\n</code></pre>d", "a\n\n```\n\nb\n\n  c <\n```\n\nd", "a\n\nb\n\n  c <\nd"},
		"pre in a list":       {"<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```", "a\nb\nc"},
		"unclosed pre":        {"<pre>a", "```\na\n```", "a"},
		"code":                {"a <code>b c</code>", "a `b c`", "a b c"},
		"table":               {"<table><caption>t<tr><th>a<th>b|c<tr><td><p>1</p><p>2</p><td><b>3</b></table>x", "t\n| a | b\\|c |\n|---|---|\n| 1\n\n2 | **3** |\n\nx", "t\na b|c\n1\n2\n3\nx"},
		"list in a cell":      {"<table><tr><td>a<ul><li>b<li>c</ul><td>d</table>", "| a\n\n- b\n- c\n\n| d |\n|---|", "a\nb\nc\nd"},
		"table as layout":     {"<table><tr><td>a<td><table><tr><td>b<td>c</table><td>d<tr><td>e</table>", "| a | |\n|---|---|\n\n| b | c |\n|---|---|\n\n| d |\n|---|\n| e |", "a\nb c\nd\ne"},
		"wide row":            {"<table><tr>" + strings.Repeat("<td>a", 257) + "</table>", "| " + strings.Repeat("a | ", 257)[:257*4-1] + "\n|" + strings.Repeat("---|", 257), strings.TrimSpace(strings.Repeat("a ", 257))},
		"cells alone":         {"<td>a</td><td>b</td><tr>", "a b", "a b"},
		"empty tag":           {"<script/>x</script><svg/>a", "a", "a"},
		"hidden":              {"<title>t</title>a<script>x<b></script><style>y</style><svg><title>z</title></svg><template>v</template>b", "ab", "ab"},
		"never closed":        {"a<svg>b", "a", "a"},
		"end tags alone":      {"a</b></ul></table></td></pre></svg></li>b", "a\n\nb", "a\nb"},
		"deep":                {strings.Repeat("<blockquote>", 1000) + "a" + strings.Repeat("</blockquote>", 1000) + "b", strings.Repeat("> ", 20) + "a\n\nb", "a\nb"},
		"NUL and bad UTF-8":   {"a\x00b\xff<pre>\x00", "a\uFFFDb\uFFFD\n\n```\n\uFFFD\n```", "a\uFFFDb\uFFFD\n\uFFFD"},
	} {
		for format, want := range map[bool]string{true: c.markdown, false: c.text} {
			got, err := web.Render(t.Context(), []byte(c.page), base, format)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, Markdown %v (-want +got):\n%s", name, format, diff)
			}
		}
	}
}

// hostile returns pages of about n bytes that trees and nested formats make much of.
func hostile(n int) map[string]string {
	fill := func(piece string) string { return strings.Repeat(piece, n/len(piece)) }
	half := func(a, b string) string {
		return strings.Repeat(a, n/2/len(a)) + strings.Repeat(b, n/2/len(b))
	}
	pages := map[string]string{"one tag": "<a " + fill("x=1 ") + ">", "one link": `<a href="` + fill("x") + `">a</a>`, "one text": fill("x"), "entities": fill("&amp;")}
	for _, piece := range []string{
		"<td>x", "<tr><td>x", "<table><td>x", "<b><i><u><s><p>", "<b id=x><p>x", "<li>x", "<ul><li>x", "<ol><li>", "<blockquote>x", "<div>", "<div>x</div>", "<a href=x>x",
		"<a><div>", "<pre>x\n", "<pre>\n", "\n", " x", "<br>", "<h1>", "<h1>x", "<svg>", "<p>", "</p>", "</b>", "</table>", "<select><option>", "<font color=x>", "<", "<!--", "<!-->", "&", "[", "*", "`", "|",
		"<td>|", "<code>`", "<hr>", "<img src=x alt=y>", "<img src=x", "<table>", "<template>", "<form><input>", "<math><mi>", "<title>", "<script>", "<textarea>", "<plaintext>",
	} {
		pages[piece] = fill(piece)
	}
	pages["open, then closed"] = half("<div>", "</div>")
	pages["quotes, then lines"] = half("<blockquote>", "x<br>")
	pages["lists, then items"] = half("<ul><li>", "<li>x")
	pages["tables, then cells"] = half("<table><tr><td>", "x<td>")
	pages["marks, then blocks"] = half("<b class=x>", "<p>x")
	pages["links, then blocks"] = half("<a href=x>", "<div>x</div>")
	return pages
}

// TestHostilePagesAreLinear converts pages of two sizes: eight times the page must not take much more than eight times the memory, all
// in all. Memory stands for work here, and does not depend on how busy the machine is.
func TestHostilePagesAreLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("converts megabytes, which the race detector slows down; runs without -short")
	}
	small, large := hostile(32<<10), hostile(256<<10)
	allocated := func(page string, markdown bool) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := web.Render(t.Context(), []byte(page), base, markdown); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	for name := range small {
		for _, markdown := range []bool{true, false} {
			a, b := allocated(small[name], markdown), allocated(large[name], markdown)
			if b > 20*a+1<<20 || b > 100*uint64(len(large[name]))+1<<20 {
				t.Errorf("%q, Markdown %v: %d bytes for %d of page, %d for %d", name, markdown, a, len(small[name]), b, len(large[name]))
			}
		}
	}
}

// TestHostilePagesOverHTTP are converted, or cut off, within the size of a page. Pages of one piece, and those that are longer as Markdown,
// have the full size. The others have a quarter of it, and a twelfth of the time: enough for linear work, too little for quadratic work.
func TestHostilePagesOverHTTP(t *testing.T) {
	t.Parallel()
	size := web.MaxBytes - 64
	if testing.Short() {
		size /= 16
	}
	fetch := func(name, page string, seconds int) {
		server := httptest.NewServer(serve("text/html", page))
		defer server.Close()
		result, err := tool(t).Execute(t.Context(), call(t, map[string]any{"url": server.URL, "timeout": seconds}))
		if err != nil || len(result.Output) > web.MaxBytes+100 || !utf8.ValidString(result.Output) {
			t.Errorf("%q: error %v", name, err)
		}
	}
	full := hostile(size)
	for name, page := range hostile(size / 4) {
		switch name {
		case "one tag", "one link", "one text", "quotes, then lines", "lists, then items", "<blockquote>x", "<hr>":
			fetch(name, full[name], 120)
		default:
			fetch(name, page, 10)
		}
	}
}

// expiring is a context that ends when it was looked at so many times.
type expiring struct {
	context.Context
	looks int
}

func (c *expiring) Err() error {
	if c.looks--; c.looks < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestConversionLooksAtItsDeadline often: the page is long, and the deadline comes early.
func TestConversionLooksAtItsDeadline(t *testing.T) {
	t.Parallel()
	ctx := &expiring{Context: t.Context(), looks: 100}
	if _, err := web.Render(ctx, []byte(strings.Repeat("<td>x", 1<<20)), base, true); err == nil {
		t.Error("no error, although the time was over")
	}
	if ctx.looks != -2 && ctx.looks != -1 {
		t.Errorf("the conversion went on for %d looks after the end", -ctx.looks)
	}
	ctx = &expiring{Context: t.Context(), looks: 1 << 20}
	if _, err := web.Render(ctx, []byte(strings.Repeat("<td>x", 1<<18)), base, true); err != nil {
		t.Fatal(err)
	}
	if looked := 1<<20 - ctx.looks; looked < 1<<18*2/1024 {
		t.Errorf("looked %d times at the context in %d tokens", looked, 1<<18*2)
	}
}

// FuzzRender: any bytes become valid UTF-8, in bounds.
func FuzzRender(f *testing.F) {
	f.Add([]byte(article), true)
	for _, page := range hostile(64) {
		f.Add([]byte(page), true)
		f.Add([]byte(page), false)
	}
	f.Fuzz(func(t *testing.T, page []byte, markdown bool) {
		out, err := web.Render(t.Context(), page, base, markdown)
		if err != nil || !utf8.ValidString(out) || len(out) > 200*len(page)+100 {
			t.Errorf("%d bytes of %d, error %v", len(out), len(page), err)
		}
	})
}
