// Package pace lets a bubbletea program draw when something changes instead of 60 times a second.
package pace

import (
	"reflect"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

const (
	// Frame is the shortest time between two drawings.
	Frame = 16 * time.Millisecond
	// soon is the delay before the first change after a pause is drawn, so that simultaneous changes are drawn together.
	soon = 2 * time.Millisecond
	// linger is the time after the last change for which every frame is still drawn.
	linger = 250 * time.Millisecond
	// rest is the interval while nothing changes. It is finite because on a busy machine, a change can reach the renderer after it was announced.
	rest = time.Second
)

// Pace draws soon after a change, then every frame, and once a second while nothing changes. Keys are drawn soon even between frames. bubbletea
// checks for changes 60 times a second even when idle, which takes about 1% of a core; its ticker is not exported. TestTUIRests fails if a new
// version of bubbletea replaces the ticker.
type Pace struct {
	Program *tea.Program
	Rested  func() // called when nothing has changed for a while, each time

	mu     sync.Mutex
	ticker *time.Ticker
	timer  *time.Timer // to the next step
	awake  bool        // more is drawn than at rest
	soon   bool        // the next drawing does not wait for a frame
	last   time.Time   // time of the last change
}

// Changed reports a change to draw; typed means that it responds to a key.
func (p *Pace) Changed(typed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ticker == nil {
		if v := reflect.ValueOf(p.Program).Elem().FieldByName("ticker"); v.IsValid() && v.Type() == reflect.TypeFor[*time.Ticker]() {
			p.ticker = (*time.Ticker)(v.UnsafePointer())
		}
	}
	p.last = time.Now()
	if p.ticker == nil || p.soon || p.awake && !typed {
		return
	}
	p.awake, p.soon = true, true
	p.ticker.Reset(soon)
	if p.timer == nil {
		p.timer = time.AfterFunc(linger, p.step)
	}
	p.timer.Reset(soon + soon/2)
}

// step draws every frame after the first drawing, and ends that if nothing has changed for a while.
func (p *Pace) step() {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := time.Since(p.last)
	p.awake, p.soon = idle < linger, false
	if p.awake {
		p.ticker.Reset(Frame)
		p.timer.Reset(linger - idle)
		return
	}
	p.Rested()
	p.ticker.Reset(rest)
}

// Stop ends the timer.
func (p *Pace) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
	}
}
