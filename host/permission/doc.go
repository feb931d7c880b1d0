// Package permission decides about permission requests. The order of judgement is in host/permit.go.
//
//	Policy (policy.go): which rules count ─► Rules (rules.go, request.go, wildcard.go, guard.go): what they say about a request
//	Approvals (approvals.go): what the user allowed before, in the session or, by the store, in the project
//	Asks (asks.go): requests and questions that wait for the user ◄─ Answers (answers.go)
//	refusal.go: the texts of refusals with their remedies; lint.go: rules that never apply
//
// The laws, which are those of opencode:
//
//   - Rules are one ordered list. The last rule whose permission and pattern both match decides; where none
//     matches, the answer is ask.
//   - In permissions and patterns * stands for any characters, / and newline among them, and ? for one. Both
//     match as a whole, and \ is the same as /. A pattern that ends in " *" also matches without that tail: "git *"
//     matches "git".
//   - A call that touches several things is denied when one is denied, and allowed when all are.
//   - A tool is hidden from the model when the last rule for its permission denies everything.
//
// Four laws are ours: a subagent may do what its own rules and those of its parent both allow (Child); no one gets
// around what an administrator's rules deny or ask for (Within); rules can be about the origin of a tool
// (DecideRequest); and editing files that programs run by themselves asks, unless a rule names them (guard).
package permission
