// Package archtest checks rules that the compiler does not: permitted imports, the folder of each library, and rules of style.
//
// The files are read with go/parser inside the test process. Asking the go command instead would leave a test
// that keeps passing from the cache after a rule was broken.
//
// Each rule is a function from a module to violations. Its fixture, testdata/<rule>.txtar, holds a small module that
// breaks it in every way it knows, so that a rule that cannot fail fails its test. policy_test.go holds the exceptions of all
// rules. The package consists of tests.
package archtest
