package mcp

// Status is the state of a server.
type Status struct {
	State    string
	Reason   string // of a failure or restart
	Tools    int
	Starts   int // number of connections
	Withheld []Withheld
}

// Status returns the current state of the server.
func (p *Plugin) Status() Status {
	var s Status
	now := p.link.now()
	s.State, s.Starts = string(now.state), now.starts
	if now.reason != nil {
		s.Reason = now.reason.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s.Tools, s.Withheld = len(p.offer.tools), p.offer.withheld
	return s
}

// Current returns the definition of the current connection, approved or not; nil without a connection.
func (p *Plugin) Current() *Definition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.offer.current
}
