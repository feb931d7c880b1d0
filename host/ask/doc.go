// Package ask asks a model: it is the one way of every request, the loop's and those beside it (titles, summaries, samples of plugins).
//
//	Setup (setup.go): agent, model, rules; made once a prompt, never changed
//	  Request, Transform ─► chat.messages.transform, chat.system.transform, chat.params, chat.headers
//	  ask (ask.go): the request with its retries
//	Step (step.go): an answer that becomes a message; Answer (answer.go): its events become parts as they come ─► text.complete
package ask
