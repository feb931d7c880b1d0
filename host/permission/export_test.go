package permission

// Match reports whether text matches the wildcard pattern as a whole.
func Match(pattern, text string) bool {
	p := compilePattern(pattern)
	return p.match(normal(text))
}
