package archive

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// Git is the tree of a commit in a bare repository. It is read with ls-tree and cat-file: nothing is checked out, so no hook, filter or
// attribute of the repository runs or applies.
type Git struct {
	// Command returns a git command in the repository.
	Command func(ctx context.Context, args ...string) *exec.Cmd
	Tree    string // a commit, or COMMIT:DIRECTORY

	entries    []gitEntry
	objects    strings.Builder // of the entries, a line each
	submodules []string
}

// maxTree limits the output of ls-tree, in bytes.
const maxTree = maxEntries * 512

// Extract checks the tree and writes it to the directory dir, which must be empty. Submodules are left out and named. Errors: ErrUnsafe,
// as for archives, and those of git.
func (g *Git) Extract(ctx context.Context, dir string) (*Content, error) {
	list, err := g.list(ctx)
	if err == nil {
		err = g.parse(list)
	}
	if err != nil {
		return nil, err
	}
	content, err := extract(ctx, g, dir, false)
	if err != nil {
		return nil, err
	}
	for _, name := range g.submodules {
		content.LeftOut = append(content.LeftOut, shown(name)+": a submodule")
	}
	return content, nil
}

type gitEntry struct {
	Entry
	object string
}

// list returns the output of ls-tree.
func (g *Git) list(ctx context.Context) ([]byte, error) {
	cmd := g.Command(ctx, "ls-tree", "-r", "-t", "-z", "--long", "--full-tree", g.Tree)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	list, err := io.ReadAll(io.LimitReader(out, maxTree+1))
	if len(list) > maxTree {
		_ = cmd.Cancel()
		_ = cmd.Wait() // it was killed
		return nil, fmt.Errorf("%w: the list of its files has more than %d bytes", ErrUnsafe, maxTree)
	}
	if waitErr := cmd.Wait(); waitErr != nil {
		return nil, fmt.Errorf("git ls-tree %s: %w: %s", g.Tree, waitErr, shown(complaints.String()))
	}
	return list, err
}

// parse reads lines of the form MODE TYPE OBJECT SIZE\tNAME, each ended by a zero byte.
func (g *Git) parse(list []byte) (err error) {
	var total int64
	for line := range strings.SplitSeq(strings.TrimSuffix(string(list), "\x00"), "\x00") {
		if line == "" {
			continue
		}
		meta, name, ok := strings.Cut(line, "\t")
		f := strings.Fields(meta)
		if !ok || len(f) != 4 {
			return fmt.Errorf("unexpected output of git ls-tree: %s", shown(line))
		}
		e := gitEntry{Entry: Entry{Name: name, Kind: KindFile}, object: f[2]}
		switch f[0] {
		case "100644", "100755", "100664":
			e.Exec = f[0] == "100755"
		case "120000":
			e.Kind = KindLink
		case "160000":
			g.submodules = append(g.submodules, name)
			continue
		case "040000": // listed so that a tree of trees without files has a bound, too
			continue
		default:
			return unsafe(name, "unknown mode %s", f[0])
		}
		if e.Size, err = strconv.ParseInt(f[3], 10, 64); err != nil || e.Size < 0 {
			return fmt.Errorf("unexpected output of git ls-tree: %s", shown(line))
		}
		if total += e.Size; total > maxBytes { // before git holds a large file in memory
			return fmt.Errorf("%w: more than %d MiB of files", ErrUnsafe, maxBytes>>20)
		}
		g.entries = append(g.entries, e)
		fmt.Fprintln(&g.objects, e.object)
	}
	return nil
}

// each reads the content of the entries from one git cat-file.
func (g *Git) each(ctx context.Context, visit visitor) (err error) {
	cmd := g.Command(ctx, "cat-file", "--batch")
	cmd.Stdin = strings.NewReader(g.objects.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = cmd.Cancel()
		}
		if waitErr := cmd.Wait(); err == nil {
			err = waitErr
		}
	}()
	answers := bufio.NewReaderSize(out, 64<<10)
	for _, e := range g.entries {
		if err := object(answers, e, visit); err != nil {
			return err
		}
	}
	return nil
}

// object reads one answer of cat-file: OBJECT TYPE SIZE, the content, a line feed.
func object(answers *bufio.Reader, e gitEntry, visit visitor) error {
	head, err := answers.ReadSlice('\n')
	if err != nil {
		return err
	}
	f := strings.Fields(string(head))
	if len(f) != 3 || f[0] != e.object || f[1] != "blob" || f[2] != strconv.FormatInt(e.Size, 10) {
		return fmt.Errorf("%s: unexpected answer of git cat-file: %s", shown(e.Name), shown(string(head)))
	}
	content := io.LimitReader(answers, e.Size)
	if e.Kind == KindLink {
		target, err := io.ReadAll(io.LimitReader(content, maxTarget+1))
		if err != nil {
			return err
		}
		e.Target = string(target)
	}
	if err := visit(e.Entry, content); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return err
	}
	_, err = answers.Discard(1)
	return err
}
