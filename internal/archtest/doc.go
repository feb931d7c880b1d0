// Package archtest checks rules that the compiler does not: permitted imports, the folder of each library, and rules of style.
//
// The files are read with go/parser inside the test process. If the go command read them instead, a cached
// test result would hide a broken rule.
//
// Each rule is a function from a module to violations. Its fixture, testdata/<rule>.txtar, holds a small module that breaks
// the rule in every way that the rule detects; a rule that never finds anything fails its test. policy_test.go holds the
// exceptions of all rules. The package consists of tests.
package archtest
