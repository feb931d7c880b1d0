package live

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/tenonhq/tenon/host/store"
	"github.com/tenonhq/tenon/sdk"
)

// damagedStore has a session of messages with the IDs 0, 1, 2, …, of which those from 10 to 10+damaged cannot be read. Before each of these is a
// damaged part of a message that is missing.
type damagedStore struct {
	store.Store
	messages, damaged int
}

func (s *damagedStore) Messages(_ context.Context, _ string, p store.Page) (out []sdk.MessageWithParts, _ error) {
	var rows []store.Damage
	end := s.messages
	if p.Before != "" {
		before, err := strconv.Atoi(p.Before)
		if err != nil {
			return nil, store.ErrNotFound
		}
		end = before
	}
	for i := max(0, end-p.Limit); i < end; i++ {
		if id := fmt.Sprint(i); i >= 10 && i < 10+s.damaged {
			rows = append(rows, store.Damage{Type: store.DamagedPart, ID: "prt_" + id}, store.Damage{Type: store.DamagedMessage}, store.Damage{Type: store.DamagedMessage, ID: id})
		} else {
			out = append(out, sdk.MessageWithParts{Info: &sdk.UserMessage{MessageHead: sdk.MessageHead{ID: id}}})
		}
	}
	if len(rows) > 0 {
		return out, &store.DamageError{Rows: rows}
	}
	return out, nil
}

// A page without a message that can be read does not hide those before it.
func TestLoadPassesDamage(t *testing.T) {
	t.Parallel()
	for _, damaged := range []int{0, 1, loadPage, 3 * loadPage} {
		s := &damagedStore{messages: damaged + 20, damaged: damaged}
		messages, _, err := Load(t.Context(), s, "ses_1")
		if err != nil || len(messages) != 20 || messages[0].Info.Head().ID != "0" {
			t.Errorf("%d damaged messages: Load() = %d messages, %v; want 20", damaged, len(messages), err)
		}
	}
}
