package extensions

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/tenonhq/tenon/sdk"
)

// Plugins have their time to close after an interrupted load, too.
func TestDiscardAfterInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	closing := errors.New("not closed")
	p := &sdk.Bundle{OnClose: func(ctx context.Context) error {
		closing = ctx.Err()
		return nil
	}}
	s := &Set{Candidates: []*Candidate{{plugin: p}}}
	if err := errors.Join(s.Discard(ctx), closing); err != nil {
		t.Error(err)
	}
}

// Confined servers and command hooks can read the configured directories of skills, as the model's commands can.
func TestPolicyReadsSkills(t *testing.T) {
	t.Parallel()
	s, skills := newSet(t), t.TempDir()
	s.opts.Config.Config.Skills.Paths = []string{skills}
	policy := s.policy(&Candidate{Project: true}, "")
	if policy == nil {
		return // no confinement on this system
	}
	if p, err := policy(); err != nil || !slices.Contains(p.Read, skills) {
		t.Errorf("policy: %q, %v", p.Read, err)
	}
}
