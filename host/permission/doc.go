// Package permission decides about permission requests. host/permit.go has the order of the decisions.
//
//	Policy (policy.go): which rules count ─► Rules (rules.go, request.go, wildcard.go, guard.go): the decision about a request
//	Approvals (approvals.go): earlier answers of the user, for the session or, in the store, for the project
//	Asks (asks.go): requests and questions that wait for the user, and the answers
//	refusal.go: the texts of refusals with their remedies; lint.go: rules that never apply
//
// The rules of evaluation are opencode's:
//
//   - Rules are one ordered list. The last rule whose permission and pattern both match decides; where none
//     matches, the answer is ask.
//   - In permissions and patterns * matches any characters, including / and newline, and ? matches one. Both
//     match the whole text, and \ is the same as /. A pattern that ends in " *" also matches without that tail: "git *"
//     matches "git".
//   - A call that touches several things is denied when one is denied, and allowed when all are.
//   - A tool is hidden from the model when the last rule for its permission denies everything.
//
// tenon adds four: a subagent may perform only operations that its own rules and its parent's rules allow (Child); the denials and questions
// of an administrator's rules cannot be overridden (Within); rules can depend on the origin of a tool (DecideRequest); and editing files
// that programs execute automatically asks, unless a rule names them (guard).
package permission
