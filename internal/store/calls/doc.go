// Package calls keeps which calls had begun when the process died.
//
// Claims run ahead of calls, so after a crash most of what was claimed had not left. Which calls had
// begun stands in a small file beside the database, one slot for each of the sender's workers: written
// just before the call, and used again only once the outcome of that call is on disk. So the slots
// hold exactly the calls that may be under way. The file is mapped, as SQLite maps the index of its
// log, and never synced: it must survive the process, not the machine, and its head says of which
// process and which boot of the machine it tells (decision 4).
package calls
