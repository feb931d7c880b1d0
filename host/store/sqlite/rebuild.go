package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/database"
	"github.com/tenonhq/tenon/host/store/sqlite/internal/node"
)

// Rebuilt is the result of Rebuild.
type Rebuilt struct {
	Kept     string // path of the damaged file
	Sessions int
	Lost     []store.Damage // known data that only the damaged file has
}

// rebuildSuffix names the new file until it takes the place of the old one. If Rebuild is killed, the next start removes it.
const rebuildSuffix = ".repair"

// Rebuild writes a new database with everything that can be read from a damaged one, which it keeps under another name. If the process is
// killed, either the old database or the new one is in place. Errors: those of Open, and store.ErrUnavailable
// if another process has the database open.
func Rebuild(ctx context.Context, o Options) (out Rebuilt, err error) {
	s, c, err := openAlone(ctx, o)
	if err != nil {
		return out, err
	}
	defer func() {
		if c != nil {
			err = errors.Join(err, s.explain(c.Close()))
		}
	}()
	defer func() {
		if err != nil {
			err = errors.Join(err, s.removeRebuild())
		}
	}()
	o.Path = s.path + rebuildSuffix
	next, err := Open(ctx, o)
	if err != nil {
		return out, err
	}
	r := rebuilding{from: s, to: next}
	if err = r.define(ctx, c); err == nil {
		err = r.copy(ctx)
	}
	if err == nil {
		err = next.Check(ctx, "")
	}
	if err = errors.Join(err, next.Close(), removeBeside(o.Path)); err != nil {
		return out, err
	}
	if out.Kept, err = keepFile(s.path); err != nil {
		return out, s.explainFile(err)
	}
	if runtime.GOOS == "windows" { // where an open file cannot be replaced
		err, c = c.Close(), nil
	}
	if err == nil {
		err = os.Rename(o.Path, s.path)
	}
	out.Sessions = r.sessions
	out.Lost, _ = store.Readable(r.damage.Err())
	return out, err
}

// openAlone opens the database exclusively, and without the additional files of WAL mode, which the next start sets again.
func openAlone(ctx context.Context, o Options) (*Store, *database.Conn, error) {
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, nil, err
	}
	s := &Store{path: path, version: o.Version, log: o.Logger, steps: schema(), node: node.New(path + "-nodes")}
	c, err := s.openFile(ctx, "&_pragma=writable_schema(1)") // with it, SQLite reads a file that was cut off
	if err != nil {
		return nil, nil, err
	}
	if err = c.Script(ctx, "PRAGMA busy_timeout=0; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT"); err == nil {
		err = s.current(ctx, c)
	}
	if err == nil {
		err = errors.Join(s.removeRebuild(), c.Script(ctx, "PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE; COMMIT"))
	}
	if err != nil {
		return nil, nil, errors.Join(s.explain(err), c.Close())
	}
	s.readers = database.NewPoolOf(c)
	return s, c, nil
}

// removeRebuild removes the new file of a Rebuild that was killed or failed. None is running, because the caller has the database open.
func (s *Store) removeRebuild() error {
	return errors.Join(removeBeside(s.path+rebuildSuffix), os.RemoveAll(s.path+rebuildSuffix)) // another process may have removed it first
}

// removeBeside removes the additional files of a closed database.
func removeBeside(path string) error {
	var errs []error
	for _, suffix := range []string{"-wal", "-shm", "-journal", "-nodes"} {
		errs = append(errs, os.RemoveAll(path+suffix)) // nil if it is missing
	}
	return errors.Join(errs...)
}

// keepFile gives the file a second name, under which it is kept.
func keepFile(path string) (string, error) {
	base := path + ".damaged-" + time.Now().UTC().Format("20060102-150405")
	name := base
	for n := 2; ; n++ {
		err := os.Link(path, name)
		if !errors.Is(err, os.ErrExist) {
			return name, err
		}
		name = fmt.Sprintf("%s-%d", base, n)
	}
}

// rebuilding copies the readable data of one store to another.
type rebuilding struct {
	from, to *Store
	sessions int
	damage   store.Damages
}

// lost notes data, of a session if session is not empty, that the new store lacks.
func (r *rebuilding) lost(session, problem string) {
	damage := store.Damage{Type: store.DamagedStore, Session: session, Problem: problem}
	_ = r.damage.Take(r.from.damageError([]store.Damage{damage})) // always nil
}

// define restores damaged definitions of tables and indexes, without which SQLite does not find their rows.
func (r *rebuilding) define(ctx context.Context, c *database.Conn) error {
	var defined [][2]string
	err := r.to.read(ctx, func(x *view) {
		x.Each("SELECT name, sql FROM sqlite_schema", func(row database.Row) { defined = append(defined, [2]string{row.Text(0), row.Text(1)}) })
	})
	x := &database.Tx{Ctx: ctx, Conn: c}
	for _, d := range defined {
		x.Exec("UPDATE sqlite_schema SET sql = ?2 WHERE name = ?1 AND sql <> ?2", d[0], d[1])
	}
	x.Damaged() // as far as it goes
	return cmp.Or(err, x.Err(), c.Script(ctx, "PRAGMA writable_schema=RESET; PRAGMA writable_schema=1"))
}

func (r *rebuilding) copy(ctx context.Context) error {
	var ids []string
	err := r.damage.Take(r.from.read(ctx, func(x *view) { ids = x.sessionIDs() }))
	for i := 0; err == nil && i < len(ids); i++ {
		if err = r.session(ctx, ids[i]); err != nil {
			err = fmt.Errorf("session %s: %w", ids[i], err)
		}
	}
	if err != nil {
		return err
	}
	return r.approvals(ctx)
}

func (r *rebuilding) session(ctx context.Context, id string) error {
	var errs []error // except damage
	info, _, err := r.from.Session(ctx, id)
	errs = append(errs, r.damage.Take(err))
	messages, err := r.from.Messages(ctx, id, store.Page{})
	errs = append(errs, r.damage.Take(err))
	ops, err := store.CopyOps(ctx, r.from, messages, &r.damage)
	errs = append(errs, err)
	todos, err := r.from.Todos(ctx, id)
	errs = append(errs, r.damage.Take(err))
	if len(todos) > 0 {
		ops = append(ops, store.PutTodos{Todos: todos})
	}
	ledger, err := r.from.Ledger(ctx, id, "")
	errs = append(errs, r.damage.Take(err))
	for _, row := range ledger {
		ops = append(ops, store.PutLedger(row))
	}
	errs = append(errs, r.from.readSession(ctx, id, func(x *view, key int64) {
		if x.Number("SELECT turn FROM head WHERE key = ?", key) == 1 {
			ops = append(ops, store.SetTurn{Open: true})
		}
		x.Damaged() // Session has already reported it
	}))
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	if err := r.to.Import(ctx, []store.Import{{Session: info, Ops: ops}}, false); err != nil {
		return err
	}
	r.sessions++
	return r.prompts(ctx, id)
}

func (r *rebuilding) prompts(ctx context.Context, id string) error {
	list, err := r.from.Prompts(ctx, id)
	if errors.Is(err, store.ErrCorrupt) {
		r.lost(id, "waiting prompts cannot be read")
		err = nil
	}
	for i := 0; err == nil && i < len(list); i++ {
		if !json.Valid(list[i].Data) {
			r.lost(id, "the waiting prompt "+list[i].ID+" cannot be decoded")
			continue
		}
		err = r.to.Submit(ctx, list[i])
	}
	return err
}

func (r *rebuilding) approvals(ctx context.Context) error {
	list, err := r.from.approvals(ctx, "")
	if errors.Is(err, store.ErrCorrupt) { // the user will be asked again
		r.lost("", "some approvals cannot be read")
		err = nil
	}
	if err != nil || len(list) == 0 {
		return err
	}
	return r.to.Approve(ctx, list)
}
