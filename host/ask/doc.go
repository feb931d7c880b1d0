// Package ask sends requests to models: for the loop, titles, summaries, and samples of plugins.
//
//	Setup (setup.go): agent, model, rules; made once per prompt, never changed
//	  Request, Transform ─► chat.messages.transform, chat.system.transform, chat.params, chat.headers
//	  ask (ask.go): sends the request, with retries
//	    Step (step.go): an answer that becomes a message; Answer (answer.go): its events become parts while they stream ─► text.complete
//	    AskSeparately (ask.go): an answer that is not stored
package ask
