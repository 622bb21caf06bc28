// Package outbox tells the customer's own systems what became of messages: it takes the changes that the store keeps for each
// receiver under webhooks_out, signs them as Standard Webhooks say, and posts them until the receiver has taken them or is given
// up. What is written when, and in which order, is the store's matter (internal/store/outgoing).
//
// It will not decide what a receiver wants to know beyond the kinds in the config, and it never holds up a send.
package outbox
