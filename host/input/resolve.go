package input

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tenonhq/tenon/host/convert"
	"github.com/tenonhq/tenon/host/generation"
	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/internal/lazyregexp"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

var (
	// mention is @ and a path or an agent's name, at the start of a word; Chinese and Japanese have no spaces before words. A path in quotes may
	// contain any other character.
	mention = lazyregexp.New("(^|[\\s(\\[\"'\\p{Han}\\p{Hiragana}\\p{Katakana}、。，；：（「])@(\"[^\"\\n]+\"|'[^'\\n]+'|[^\\s`,;\"')\\]、。，；：）」]+)")
	// fileName matches names that can only mean a file or a directory, unlike @app.route( or @types/node.
	fileName = lazyregexp.New(`^[\pL\pN_./~ -]*(/|\.[a-z]{1,5})$`)
)

// Resolver turns the text and attachments of one prompt into parts. Set the exported fields.
type Resolver struct {
	Project    sdk.Project
	Log        *slog.Logger
	Generation *generation.Set
	Rules      *permission.Rules // for files that the template of a repository names
	// Author returns the author of a command's template.
	Author func(*Command) Author
	// Shell returns the function that runs the shell commands of a command's template.
	Shell func(ctx context.Context, c *Command) (func(ctx context.Context, line string) (*sdk.ToolResult, error), error)

	err           error // the first attachment that cannot be used
	attachedBytes int   // counts to maxAttached
	references    references
	subagents     []sdk.Agent // loaded at the first mention that names no file: pasted text may be full of @
}

// Parts returns the parts of a prompt: the parts of the command c, with text as its arguments, and the given parts, resolved.
func (r *Resolver) Parts(ctx context.Context, text string, c *Command, given sdk.Parts) (sdk.Parts, error) {
	parts, err := r.prompt(ctx, text, c)
	if err != nil {
		return nil, err
	}
	for _, p := range given {
		parts = append(parts, r.part(p)...)
	}
	if r.err != nil {
		return nil, r.err
	}
	if c.Name == "" && len(parts) == 0 {
		return nil, errors.New("the prompt is empty: nothing to answer")
	}
	return parts, nil
}

// prompt returns the parts of the prompt that the user typed or a command makes.
func (r *Resolver) prompt(ctx context.Context, text string, c *Command) (sdk.Parts, error) {
	if c.rendered {
		return c.render(ctx, r.Log, text)
	}
	if err := r.runTemplate(ctx, c); err != nil {
		return nil, err
	}
	if c.line {
		line := c.pieces[0]
		return sdk.Parts{&sdk.TextPart{Text: "$ " + line.text + "\n" + line.output, Metadata: sdk.Object{"shell": line.text}}}, nil
	}
	text, foreign := joinPieces(c.pieces, r.Author(c))
	return r.text(ctx, text, foreign), nil
}

// spans are ranges of a prompt, in bytes from and to, that the user did not write.
type spans struct {
	closed   [][2]int // mentions are text
	confined [][2]int // only mentions of files in the project that may be read without asking count
}

// among reports whether text[start:end] overlaps one of the ranges.
func among(ranges [][2]int, start, end int) bool {
	return slices.ContainsFunc(ranges, func(r [2]int) bool { return start < r[1] && r[0] < end })
}

// text returns the text as a part, and parts for its mentions: files, agents, and names that plugins know.
func (r *Resolver) text(ctx context.Context, text string, foreign spans) sdk.Parts {
	if text == "" {
		return nil
	}
	parts := sdk.Parts{&sdk.TextPart{Text: text}}
	seen := map[string]bool{} // by name, whether something was found
	for start, end := nextMention(text, 0); end > 0; start, end = nextMention(text, end) {
		name, found := r.find(ctx, text, start, end, foreign, seen)
		if found == nil && quoted(text[start:end]) {
			end = start + 1 // the quote is ordinary text: mentions after it count
		}
		if !seen[name] {
			parts = append(parts, found...)
		}
		seen[name] = seen[name] || found != nil
	}
	return parts
}

// nextMention returns where the name of the next mention is in the text; zeros if there is none.
func nextMention(text string, from int) (start, end int) {
	m := mention().FindStringSubmatchIndex(text[from:])
	if m == nil {
		return 0, 0
	}
	return from + m[4], from + m[5]
}

// find resolves the mention text[start:end] to a file, an agent, or a name that plugins know. Files are not read again, and plugins not asked
// again, for a name in seen.
func (r *Resolver) find(ctx context.Context, text string, start, end int, foreign spans, seen map[string]bool) (name string, found sdk.Parts) {
	if among(foreign.closed, start-1, end) {
		return "", nil
	}
	quotes := 0 // around the name: a template may have them around an argument
	if quoted(text[start:end]) {
		quotes = 1
	}
	name, found = r.local(text, start, end, among(foreign.confined, start+quotes, end-quotes), seen)
	if found != nil {
		return name, found
	}
	byOthers := false
	if quotes == 0 {
		name = referenceName(text, start, end)
		if _, asked := seen[name]; name == "" || asked {
			return "", nil
		}
		byOthers = among(slices.Concat(foreign.closed, foreign.confined), start, start+len(name)) // the name can be longer than the mention
		if !byOthers {
			found = r.references.find(ctx, r.Generation, name)
		}
	}
	if found == nil && fileName().MatchString(name) {
		if _, err := r.stat(name); err != nil {
			r.Log.Warn("file not found; the prompt keeps the text", "mention", "@"+name)
		}
	}
	if byOthers {
		return "", nil // the user may mention the same name
	}
	return name, found
}

// local resolves the mention text[start:end], with or without the punctuation after it, to a file or an agent. It returns the name without
// quotes.
func (r *Resolver) local(text string, start, end int, confined bool, seen map[string]bool) (name string, found sdk.Parts) {
	written := text[start:end]
	for _, candidate := range slices.Compact([]string{written, strings.TrimRight(written, ".:!?！？")}) {
		source := &sdk.SourceText{Value: "@" + candidate, Start: start - 1, End: start + len(candidate)}
		if name = candidate; quoted(name) {
			name = name[1 : len(name)-1]
		}
		if seen[name] {
			return name, sdk.Parts{}
		}
		if found := r.mentioned(name, source, confined); found != nil {
			return name, found
		}
	}
	return name, nil
}

// quoted reports whether the name in a mention is in quotes.
func quoted(name string) bool { return strings.HasPrefix(name, `"`) || strings.HasPrefix(name, "'") }

// Mention returns the text that attaches a file or directory; empty if no text does.
func Mention(path string) string {
	for _, quote := range []string{"", `"`, "'"} {
		text := "@" + quote + path + quote
		if m := mention().FindStringSubmatch(text); m != nil && m[0] == text && (quote != "" || !quoted(path)) {
			return text
		}
	}
	return ""
}

// mentioned returns the parts of one mention; nil if it names neither a file nor an agent, or a file that its author may not attach. The parts of
// a file that cannot be attached are empty.
func (r *Resolver) mentioned(name string, source *sdk.SourceText, confined bool) sdk.Parts {
	if path, err := r.stat(name); err == nil {
		at := attached{path: path}
		if confined {
			var ok bool
			if at.real, ok = r.mayAttach(path); !ok {
				r.Log.Warn("not attached: a command of the repository names a file outside of the project, or a file that requires permission", "file", path)
				return nil
			}
		}
		return append(sdk.Parts{}, r.file(at, &sdk.FileSource{Type: "file", Path: path, Text: source})...)
	}
	if r.subagents == nil {
		r.subagents = r.Generation.Subagents()
	}
	if !slices.ContainsFunc(r.subagents, func(a sdk.Agent) bool { return a.Name == name }) {
		return nil
	}
	return r.agent(&sdk.AgentPart{Name: name, Source: source})
}

// stat returns the path that a mention names, and an error if nothing is there.
func (r *Resolver) stat(name string) (path string, err error) {
	path = projectfs.Join(r.Project.Directory, projectfs.FromHome(r.Project.Home, name))
	if projectfs.Remote(path, r.Project.Directory, r.Project.Worktree, r.Project.Home) {
		return path, fs.ErrNotExist // a pasted text does not sign in to a server
	}
	_, err = r.files().Stat(path)
	return path, err
}

// mayAttach reports whether a file that a template of the repository names is in the project, after links, and may be read without asking. It
// returns the real path, for opening.
func (r *Resolver) mayAttach(path string) (real string, ok bool) {
	root := projectfs.Real(r.Project.Worktree)
	real = projectfs.Real(path)
	rel, err := filepath.Rel(root, real)
	return real, err == nil && filepath.IsLocal(rel) && r.Rules.Decide("read", filepath.ToSlash(rel)).Action == sdk.ActionAllow
}

// part resolves a part of a client: files are read, agents announced, other parts stay unchanged.
func (r *Resolver) part(p sdk.Part) sdk.Parts {
	switch p := p.(type) {
	case *sdk.AgentPart:
		return r.agent(p)
	case *sdk.FilePart:
		if strings.HasPrefix(p.URL, "data:") && convert.IsTextMime(p.Mime) {
			return r.dataText(p)
		}
		if !strings.HasPrefix(p.URL, "file:") {
			return sdk.Parts{p}
		}
		path, err := FilePath(p.URL)
		if err != nil {
			r.fail(err)
			return nil
		}
		source := cmp.Or(p.Source, &sdk.FileSource{Type: "file", Path: path})
		return r.file(attached{path: path}, source)
	}
	return sdk.Parts{p}
}

func (r *Resolver) agent(p *sdk.AgentPart) sdk.Parts {
	return sdk.Parts{p, &sdk.TextPart{Synthetic: true, Text: fmt.Sprintf("Use the task tool with subagent_type %q for what the message above asks of @%s.", p.Name, p.Name)}}
}

func (r *Resolver) fail(err error) {
	r.err = cmp.Or(r.err, err)
}
