package shell

// GitPrograms returns the settings of a git configuration that make git run something.
func GitPrograms(text string) (out []string) {
	for _, s := range gitSettings(text) {
		if s.runs() {
			out = append(out, s.String())
		}
	}
	return out
}
