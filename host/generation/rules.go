package generation

import (
	"cmp"
	"context"

	"github.com/tenonhq/tenon/host/permission"
	"github.com/tenonhq/tenon/sdk"
)

// Rules returns the permission rules of an agent in a session and, for a subagent's session, within what its parent may do, with the path of
// agents. forTemplate is as in permission.Policy. find returns the parents.
func (g *Set) Rules(ctx context.Context, find func(context.Context, string) (*sdk.Session, error), a *sdk.Agent, s *sdk.Session, forTemplate bool) (*permission.Rules, string, error) {
	rules := g.r.o.Policy.Rules(permission.Sources{
		Agent: a.Permission, General: g.Config.Permission, Named: g.Config.Agent[a.Name].Permission, Session: s.Permission,
		Strict: a.Strict, ThirdParty: len(a.Permission) > 0 && g.byThirdParty(a.Name),
	}, forTemplate)
	if s.ParentID == "" {
		return rules, a.Name, nil
	}
	parent, err := find(ctx, s.ParentID)
	if err != nil {
		return nil, "", err
	}
	pa, err := g.Agent(cmp.Or(parent.Agent, sdk.AgentBuild))
	if err != nil {
		return nil, "", err
	}
	parents, path, err := g.Rules(ctx, find, &pa, parent, forTemplate)
	if err != nil {
		return nil, "", err
	}
	return permission.Child(parents, rules), path + "/" + a.Name, nil
}

// Rules returns the permission rules that apply to an agent in a new session. Empty means the default agent. Errors: ErrNotFound.
func (n Inventory) Rules(agent string) (*permission.Rules, error) {
	g := n.r.Acquire()
	defer n.r.Release(g)
	a, err := g.Agent(cmp.Or(agent, sdk.AgentBuild))
	if err != nil {
		return nil, err
	}
	rules, _, err := g.Rules(n.r.ctx, nil, &a, &sdk.Session{}, false)
	return rules, err
}
