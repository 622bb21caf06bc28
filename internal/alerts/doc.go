// Package alerts tells people outside of the machine what is wrong, once, and that it is over: by a webhook, to Slack, by
// e-mail.
//
// It does not find troubles, which package server does from stored facts, and it never holds up anything else: a
// receiver that is down, slow or gone costs nobody but those who read it. What was told is stored, so a restart does
// not tell it again; where it cannot be stored it is told all the same.
//
// Before here: the list of troubles that status and doctor show. After here: people.
package alerts
