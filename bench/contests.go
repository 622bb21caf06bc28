package main

// contests lists everything that can be measured, in the order of the table, with what each
// figure must reach.
func contests(big bool) []*contest {
	all := []*contest{
		handlerContest(figT, discard, ""),
		handlerContest(figJ, verifyAndDecode, figT),
		clientContest(figO, postSend),
		clientContest(figP, getStatus),
		ingestContest(16, 0, 0),
		ingestContest(64, 0.6, 1.0),
		ingestContest(256, 0, 0),
		naiveContest(),
		sendsContest(0.40),
		pollsContest(0.45),
		wholeContest(0.12),
		latencyContest(1, 2),
		processContest(0, 300, 150),
	}
	if big {
		all = append(all, claimContest(1.5), processContest(storedMessages, 300, 150))
	}
	return all
}
