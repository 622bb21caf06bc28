package main

// measured are costs on PostgreSQL 15, by "go run ./bench -costs" on a machine with two shared cores; docs/scale.md has the table.
var measured = map[string]Costs{
	"1 node": {
		Webhook: Cost{Node: 246, Server: 189, Log: 2661, Stored: 1773},
		Send:    Cost{Node: 310, Server: 282, Log: 1764, Stored: 1087},
		Poll:    Cost{Node: 112, Server: 73, Log: 1116, Stored: 444},
		Key:     key,
	},
	"3 nodes": {
		Webhook: Cost{Node: 493, Server: 417, Log: 3225, Stored: 2285},
		Send:    Cost{Node: 382, Server: 484, Log: 1905, Stored: 1229},
		Poll:    Cost{Node: 146, Server: 102, Log: 1175, Stored: 508},
		Key:     key,
	},
	"1 node, beside 1,000,000": {
		Webhook: Cost{Node: 281, Server: 277, Log: 7143, Stored: 1591},
		Send:    Cost{Node: 328, Server: 270, Log: 2197, Stored: 1027},
		Poll:    Cost{Node: 114, Server: 84, Log: 1123, Stored: 433},
		Key:     key,
	},
}

var key = Cost{Server: 5, Log: 185, Stored: 104}
