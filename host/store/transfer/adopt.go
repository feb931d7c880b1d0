package transfer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/tools"
	"github.com/tenonhq/tenon/sdk"
)

// Place is the project and the directory that an imported session will belong to.
type Place struct{ ProjectID, Directory string }

// Adopt moves the file's sessions to a place. It removes everything that cannot be imported, and returns a note for the user about each
// removal. Permission rules and file states are always removed: they must not come from a file.
func (f *File) Adopt(p Place) []string {
	a := adoption{counts: map[string]int{}, from: f.Info.Directory, to: p.Directory}
	if f.Info.ParentID != "" {
		a.counts["it was the session of a subagent, and is now a session without a parent"]++
		f.Info.ParentID = ""
	}
	for range f.Damaged {
		a.drop("a row that was damaged when the file was written is not in it", true)
	}
	f.Damaged = nil
	a.file(f, p)
	return a.notes()
}

// adoption counts the removals by note.
type adoption struct {
	counts   map[string]int
	from, to string
}

func (a *adoption) notes() []string {
	var out []string
	if a.from != "" && a.from != a.to {
		out = append(out, fmt.Sprintf("it worked in %q and continues in %q", a.from, a.to))
	}
	for _, what := range slices.Sorted(maps.Keys(a.counts)) {
		if n := a.counts[what]; n > 1 {
			what = fmt.Sprintf("%s (%d times)", what, n)
		}
		out = append(out, what)
	}
	return out
}

func (a *adoption) drop(what string, there bool) {
	if there {
		a.counts[what]++
	}
}

func (a *adoption) file(f *File, p Place) {
	s := f.Info
	a.drop("its permission rules are not imported: permissions never come from a file", len(s.Permission) > 0)
	a.drop("its share URL is not imported: tenon does not publish sessions", s.Share != nil)
	a.drop("its unfinished undo is not imported: the files are not here", s.Revert != nil)
	a.drop("its workspace is not imported: tenon has no workspaces", s.WorkspaceID != "")
	s.Permission, s.Share, s.Revert, s.WorkspaceID, s.Time.Compacting = nil, nil, nil, "", 0
	s.ProjectID, s.Directory, s.Path = p.ProjectID, p.Directory, ""
	f.count()
	for i := range f.Messages {
		f.Messages[i].Parts = a.parts(f, f.Messages[i].Parts)
	}
	for _, child := range f.Children {
		a.file(child, p)
	}
}

// count adds up the cost and tokens of the messages if the session has none, as in exports of older versions of opencode. Messages that are older
// than the session are copies in a fork, which does not pay for them.
func (f *File) count() {
	s := f.Info
	if s.Cost != 0 || s.Tokens.Sum() != 0 {
		return
	}
	for _, m := range f.Messages {
		if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Time.Created >= s.Time.Created {
			s.Cost += a.Cost
			s.Tokens = s.Tokens.Add(a.Tokens)
		}
	}
}

func (a *adoption) parts(f *File, parts sdk.Parts) sdk.Parts {
	const snapshots = "its file states are not imported: its changes cannot be undone here"
	out := parts[:0]
	for _, p := range parts {
		switch p := p.(type) {
		case *sdk.SnapshotPart, *sdk.PatchPart:
			a.drop(snapshots, true)
			continue
		case *sdk.StepStartPart:
			a.drop(snapshots, p.Snapshot != "")
			p.Snapshot = ""
		case *sdk.StepFinishPart:
			a.drop(snapshots, p.Snapshot != "")
			p.Snapshot = ""
		case *sdk.FilePart:
			// After an undo, the file at this path on this machine would be attached.
			a.drop("the path of an attached file is not imported: undo does not attach it again", dropPath(p) != "")
		case *sdk.ToolPart:
			a.output(f, p)
		}
		out = append(out, p)
	}
	return out
}

// dropPath removes and returns the path of an attached file that the prompt does not mention.
func dropPath(p *sdk.FilePart) (path string) {
	if p.Source != nil && p.Source.Text == nil {
		path, p.Source = p.Source.Path, nil
	}
	return path
}

// output moves a large output to f.Outputs. It removes a reference to an output that the file does not hold.
func (a *adoption) output(f *File, t *sdk.ToolPart) {
	path, _ := t.State.Metadata["outputPath"].(string)
	if path != "" {
		if content, ok := f.Outputs[store.Output(t)]; ok && store.Hash([]byte(content)) == store.Output(t) {
			return
		}
		a.drop("the full text of a large output is not imported: the file has only its preview", true)
		delete(t.State.Metadata, "outputPath")
	}
	metadata := t.State.Metadata
	if metadata["truncated"] == false { // FitOutput would treat it as the mark of a tool with its own limit, and double the limit
		metadata = metadata.Clone()
		delete(metadata, "truncated")
	}
	kept, metadata, blobs := tools.FitOutput(sdk.ToolOutputConfig{}, &sdk.ToolResult{Output: t.State.Output, Metadata: metadata})
	if len(blobs) == 0 {
		return
	}
	if f.Outputs == nil {
		f.Outputs = map[string]string{}
	}
	for _, whole := range blobs {
		f.Outputs[store.Hash(whole)] = string(whole)
	}
	t.State.Output, t.State.Metadata = kept, metadata
}

// Imports returns the sessions in the form that the store imports: the session, then those of its subagents. They share their values with
// the file.
func (f *File) Imports() []store.Import {
	in := store.Import{Session: f.Info}
	for _, hash := range slices.Sorted(maps.Keys(f.Outputs)) {
		in.Ops = append(in.Ops, store.PutBlob{Content: []byte(f.Outputs[hash])})
	}
	open := false
	for _, m := range f.Messages {
		if a, ok := m.Info.(*sdk.AssistantMessage); ok && a.Time.Completed == 0 {
			open = true // the next turn closes it like an interrupted one
		}
	}
	in.Ops = append(in.Ops, store.MessageOps(f.Messages)...)
	if len(f.Todos) > 0 {
		in.Ops = append(in.Ops, store.PutTodos{Todos: f.Todos})
	}
	if open {
		in.Ops = append(in.Ops, store.SetTurn{Open: true})
	}
	out := []store.Import{in}
	for _, child := range f.Children {
		out = append(out, child.Imports()...)
	}
	return out
}
