// Package permission decides about permission requests. The order of judgement is in host/permit.go.
//
//	Policy (policy.go): which rules count ─► Rules (rules.go, request.go, wildcard.go, guard.go): the decision about a request
//	Approvals (approvals.go): earlier answers of the user, for the session or, in the store, for the project
//	Asks (asks.go): requests and questions that wait for the user, and the answers
//	refusal.go: the texts of refusals with their remedies; lint.go: rules that never apply
//
// The laws are opencode's:
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
// around the denials and questions of an administrator's rules (Within); rules can be about the origin of a tool
// (DecideRequest); and editing files that programs run by themselves asks, unless a rule names them (guard).
package permission
