// Package ignore walks directory trees without what the project ignores: the rules of .gitignore files
// at every level, of .git/info/exclude and of .ignore files, and every .git directory.
//
// Rules mean what they mean to git (see gitignore(5)); a test compares them with git check-ignore on
// random trees. On top of that, as ripgrep does it: .ignore files have the same syntax and outrank
// .gitignore; a directory with a .git of its own starts afresh with .gitignore rules; a directory that
// is named explicitly is walked although a rule ignores it. Unlike ripgrep, .gitignore files count
// without a repository, too. The user's global excludes are not read.
package ignore
