package commandhooks

// Collect reads an output of a command.
var Collect = collect

// ParseJudgement reads the answer of a model and reports whether it blocks.
func ParseJudgement(event, text string) (blocks bool, err error) {
	r, err := judgement(event, text)
	return r != nil && r.verdict == block, err
}

// ParseOutput reads what a command left and reports whether that decides something.
func ParseOutput(event string, code int, stdout, stderr []byte) (decided bool, err error) {
	o := &output{stdout: stdout, stderr: stderr, code: code}
	r, err := o.reply(&entry{event: event})
	return r != nil && r.verdict != none, err
}
