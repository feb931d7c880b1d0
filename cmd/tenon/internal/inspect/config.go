package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/tenonhq/tenon/builtin/commandhooks"
	"github.com/tenonhq/tenon/builtin/instructions"
	"github.com/tenonhq/tenon/cmd/tenon/internal/cli"
	"github.com/tenonhq/tenon/cmd/tenon/internal/terminal"
	"github.com/tenonhq/tenon/cmd/tenon/internal/view"
	"github.com/tenonhq/tenon/host/config"
	"github.com/tenonhq/tenon/internal/projectfs"
	"github.com/tenonhq/tenon/sdk"
)

func showConfig(_ context.Context, w *cli.Workspace, _ []string) error {
	public, err := w.Loaded.Redacted()
	if err != nil {
		return err
	}
	if w.App.JSON {
		origins := map[string]string{}
		for key, o := range w.Loaded.Origins {
			origins[key] = o.String()
		}
		return w.App.PrintJSON(struct {
			Config  *sdk.Config       `json:"config"`
			Origins map[string]string `json:"origins"`
			Files   []string          `json:"files"`
		}{public, origins, append([]string{}, w.Loaded.Files...)})
	}
	values := valuesOf(public)
	t := &view.Table{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if object, ok := values[key].(map[string]any); ok && len(object) > 0 {
			continue // its fields are listed separately
		}
		text, _ := json.Marshal(values[key]) // it was decoded from JSON
		t.Add(key, view.Clip(terminal.OneLine(string(text)), view.SubjectLength), originOf(w.Loaded, key))
	}
	return w.App.PrintTable(t)
}

// originOf returns the place where a value, or an object that contains it, was set.
func originOf(l *config.Loaded, key string) string {
	for ; key != ""; key = key[:max(0, strings.LastIndexAny(key, ".["))] {
		if o := l.Origin(key); o != "" {
			return o
		}
	}
	return ""
}

// configReport is the outcome of "config check".
type configReport struct {
	Files    []string        `json:"files"`
	Problems []configProblem `json:"problems"`
}

// configProblem is a problem of the configuration.
type configProblem struct {
	Place   string `json:"place,omitempty"` // file:line:column, or a variable
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
	Warning bool   `json:"warning"`
}

// text returns the problem as one line.
func (p *configProblem) text() string {
	words := []string{"error", p.Place, p.Key, p.Message}
	if p.Warning {
		words[0] = "warning"
	}
	line := strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), ": ")
	if p.Fix != "" {
		line += "; " + p.Fix
	}
	return terminal.OneLine(line)
}

func (r *configReport) add(list []config.Problem, warning bool) {
	for _, p := range list {
		place := p
		place.Key, place.Message, place.Remedy = "", "", ""
		r.Problems = append(r.Problems, configProblem{strings.TrimSuffix(place.String(), ": "), p.Key, p.Message, p.Remedy, warning})
	}
}

// checkConfig reports all problems of the configuration, and of all that it and the directories of the project and the user contribute.
func checkConfig(ctx context.Context, a *cli.App) error {
	r := configReport{Files: []string{}, Problems: []configProblem{}}
	w, err := a.Place(ctx)
	if err == nil {
		err = w.Configure(ctx)
	}
	var bad *config.Error
	switch {
	case errors.As(err, &bad):
		r.add(bad.Problems, false)
	case err != nil:
		return err
	default:
		r.Files = append(r.Files, w.Loaded.Files...)
		r.add(w.Loaded.Warnings, true)
		r.hooks(w)
		r.skills(w)
		if err := r.parts(ctx, w); err != nil {
			return err
		}
	}
	return r.show(a)
}

// hooks adds the problems of command hooks. A run ignores the hooks of a file with such a problem.
func (r *configReport) hooks(w *cli.Workspace) {
	for _, block := range w.Loaded.HookBlocks() {
		_, warnings, err := commandhooks.Commands(commandhooks.Source{Where: block.Origin.Source, Data: block.Data})
		for _, w := range warnings {
			r.Problems = append(r.Problems, configProblem{Place: block.Origin.String(), Message: w, Warning: true})
		}
		if err != nil {
			r.Problems = append(r.Problems, configProblem{Message: err.Error(), Fix: "fix the hooks; until then, tenon ignores the hooks in the file"})
		}
	}
}

// skills adds the directories of skills that do not exist. A run does not log them: a relative one may exist in other projects.
func (r *configReport) skills(w *cli.Workspace) {
	const key = "skills.paths"
	for _, path := range w.Loaded.Config.Skills.Paths {
		if _, err := os.Stat(projectfs.Join(w.Project.Directory, projectfs.FromHome(w.Project.Home, path))); err != nil {
			message := fmt.Sprintf("%s: %s", path, cli.Cause(err))
			r.Problems = append(r.Problems, configProblem{Place: originOf(w.Loaded, key), Key: key, Message: message, Warning: true})
		}
	}
}

// parts adds what a run would log: the plugins, servers and files that cannot be loaded, and the problems of configured models, providers and
// agents.
func (r *configReport) parts(ctx context.Context, w *cli.Workspace) error {
	var log logLines
	level, restore := w.App.Level, w.App.Divert(&log)
	w.App.SetLevel(min(level, slog.LevelWarn))
	m, err := w.Open(ctx, cli.HostOptions{})
	if err == nil {
		for _, p := range m.Check(ctx) { // reads the files of agents and commands, too
			place := cmp.Or(originOf(w.Loaded, p.Key), p.Origin)
			r.Problems = append(r.Problems, configProblem{Place: place, Key: p.Key, Message: p.Message(), Warning: p.Warning})
		}
		m.SkillInfos(ctx)
		instructions.Check(w.Project, w.Loaded.Config, w.App.Log)
		err = m.Close(context.WithoutCancel(ctx))
	}
	restore()
	w.App.SetLevel(level)
	for _, line := range log.lines {
		kind, text, _ := strings.Cut(line, " ")
		known := func(p configProblem) bool { return strings.Contains(text, p.Message) }
		switch {
		case err == nil && (kind == "WARN" || kind == "ERRO"):
			if !slices.ContainsFunc(r.Problems, known) {
				r.Problems = append(r.Problems, configProblem{Message: strings.TrimSpace(text), Warning: true})
			}
		case kind != "WARN" || level <= slog.LevelWarn:
			_, _ = w.App.Mask.Write([]byte(line)) // as without the report
		}
	}
	return err
}

// logLines keeps the lines of a log.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

// Write keeps a line.
func (l *logLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// show prints the report. It returns an error if there is a problem other than a warning.
func (r *configReport) show(a *cli.App) error {
	warnings := 0
	var b strings.Builder
	for _, file := range r.Files {
		b.WriteString(terminal.OneLine(file) + "\n")
	}
	for i := range r.Problems {
		if r.Problems[i].Warning {
			warnings++
		}
		b.WriteString(a.Mask.Clean(r.Problems[i].text()) + "\n")
	}
	count := len(r.Problems) - warnings
	switch {
	case len(r.Files) == 0 && len(r.Problems) == 0:
		b.WriteString("no configuration file found, no problems\n")
	case len(r.Problems) == 0:
		b.WriteString("no problems\n")
	case count == 0:
		b.WriteString(view.Plural(warnings, "warning") + ", no errors\n")
	}
	if err := a.Show(r, func() error { return a.Print(b.String()) }); err != nil || count == 0 {
		return err
	}
	found := view.Plural(count, "error")
	if warnings > 0 {
		found += " and " + view.Plural(warnings, "warning")
	}
	return cli.Fail(cli.ExitConfig, fmt.Errorf("the configuration has %s", found), "correct the values above; tenon config edit opens your file")
}
