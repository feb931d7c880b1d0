package pace

import (
	"io"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// counting leaves after its first message.
type counting struct{ changed func(typed bool) }

func (c counting) Init() tea.Cmd { return func() tea.Msg { return struct{}{} } }

func (c counting) Update(tea.Msg) (tea.Model, tea.Cmd) {
	c.changed(false)
	return c, tea.Quit
}

func (c counting) View() tea.View { return tea.NewView("") }

// TestTUIRests: the ticker of this version of bubbletea is found, so that an idle screen takes no time.
func TestTUIRests(t *testing.T) {
	t.Parallel()
	p := &Pace{Rested: func() {}}
	p.Program = tea.NewProgram(counting{p.Changed}, tea.WithInput(nil), tea.WithOutput(io.Discard), tea.WithoutSignalHandler(), tea.WithContext(t.Context()))
	if _, err := p.Program.Run(); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if p.ticker == nil || !p.awake {
		t.Errorf("ticker %v, awake %v", p.ticker, p.awake)
	}
}

// A screen that nothing changes any more comes to rest.
func TestRested(t *testing.T) {
	t.Parallel()
	rested := make(chan struct{}, 1)
	p := &Pace{Rested: func() { rested <- struct{}{} }, ticker: time.NewTicker(time.Hour)}
	defer p.ticker.Stop()
	defer p.Stop()
	for range 2 {
		p.Changed(true)
		select {
		case <-rested:
		case <-time.After(time.Minute):
			t.Fatal("the screen did not come to rest")
		}
	}
}
