// Package enricher fetches what webhooks leave out: most CRM systems post an id and no phone
// number. It takes the events that wait for that from the store, makes the GETs that their
// connector describes, joins the answers to the event, and only then has it planned.
//
// A GET changes nothing at the sender, so it may be made twice: after a crash a look-up is due
// again when its lease ends. One that fails is tried again for a day at the most; then, or at
// once where trying again cannot help, the event is planned without it and every trigger that
// would have sent something says why it does not. No event is left waiting for good.
//
// It asks only the host that the connector names, never a private or special address unless
// the connector allows it, follows no redirect to another host, and uses no proxy: the address
// that is checked is the one that is called. It writes nothing to anybody's CRM, and shows
// neither tokens nor answers in its words. Access tokens live in memory. A refresh token that a
// provider gives in place of the configured one is kept in the store (decision 12).
//
// Before here: package server, which stores the event. After here: package sender.
package enricher
