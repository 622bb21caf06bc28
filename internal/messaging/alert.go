package messaging

import "time"

// An Alert says that a trouble is told to a receiver. It is stored, so that a restart neither tells it again nor forgets
// to say that it is over. Receiver, Condition, and the trouble's code and subject together are its name.
type Alert struct {
	Receiver  string  // an AlertReceiver's ID
	Condition string  // of the config, as it is written: "all", "halt for 4h"
	Trouble   Trouble // as it was told
	Began     time.Time
	ToldAt    time.Time
	EndedAt   time.Time // zero while it lasts
}

// An AlertNotice is what is still to be told to a receiver: that a trouble began, or that it is over.
type AlertNotice struct {
	ID        string // the same in each try
	Receiver  string
	Condition string
	Trouble   Trouble
	Began     time.Time
	EndedAt   time.Time // zero: it began
	CreatedAt time.Time
	Attempts  int
	NextAt    time.Time // not before
}

// An AlertReceiver is how deliveries to a receiver ended.
type AlertReceiver struct {
	ID           string // a hash of what it is and where
	Name         string // for people
	DeliveredAt  time.Time
	FailedAt     time.Time // zero where nothing failed since DeliveredAt
	FailingSince time.Time
	LastError    string
}

// AlertState is all of it.
type AlertState struct {
	Alerts    []Alert
	Notices   []AlertNotice // the oldest first
	Receivers []AlertReceiver

	// RestoredAt is when the data was last found to be a copy of what it was; zero for never. Nobody knows what was told between
	// the copy and then.
	RestoredAt time.Time
}
