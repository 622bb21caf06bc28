package nudgewire

import "time"

// DueRules say at the due moment of a dispatch whether it may be sent now. The store asks them inside the
// commit of a claim, so both methods are pure and quick; the rules are those of the config that is loaded then.
type DueRules interface {
	// Needs says which facts Decide looks at. The zero value costs the claim nothing.
	Needs(d *Dispatch) DueNeeds
	// Decide is asked once for each row of a claim. now is the time of the claim.
	Decide(d *Dispatch, f *DueFacts, now time.Time) Verdict
}

// DueNeeds are the facts that a decision at the due moment needs.
type DueNeeds struct {
	Sends   time.Duration // how far back the sends to this phone are looked at; 0 is not at all
	Account time.Duration // how far back the contacts of this account are counted; 0 is not at all
	Consent bool          // what the contact agreed to
	Window  bool          // the window of the trigger's rate
}

// DueFacts are what the store knows at the due moment. Only what was needed is filled in.
type DueFacts struct {
	Sends    []PastSend // to the same phone, whatever the trigger or job, the newest first
	Contacts int        // different phones that were sent to by this account
	New      bool       // this phone is not one of them
	Consent  Consent
	Window   UsedWindow
	FirstDue time.Time // before it was deferred; the zero time where it never was
}

// A UsedWindow is the newest window of a trigger's rate, which may have ended. The zero value is none.
type UsedWindow struct {
	Since time.Time
	Used  int64 // claims of the trigger's dispatches in it
}

// A PastSend is one message that was sent, is being sent, or may have been sent: a dispatch, or the row of a
// CSV file that was uploaded.
type PastSend struct {
	At       time.Time // when the claim began, or the upload
	Category Category
	Trigger  string // or job
}

// Consent is what a contact said about messages of a category. The zero value is silence.
type Consent string

// What a contact may have said.
const (
	ConsentGiven     Consent = "given"
	ConsentWithdrawn Consent = "withdrawn"
)

// A Verdict is what DueRules answer. The zero value lets the dispatch go.
type Verdict struct {
	Action VerdictAction
	Rule   string    // the YAML key that decided: quiet_hours, limit, consent, limits, rate
	Reason string    // one sentence for people, with the numbers that decided
	Until  time.Time // for DeferSend: when it falls due again
	Window time.Time // for AllowSend: when the window of the trigger's rate began in which it goes; zero for no rate
}

// RuleOnChange is the Rule of what an edit planned anew: it is kept with what rules said, put off until its new time, earlier or later.
const RuleOnChange = "on_change"

// A VerdictAction is what happens to a dispatch at its due moment.
type VerdictAction string

// The actions of a Verdict.
const (
	AllowSend VerdictAction = ""
	DeferSend VerdictAction = "deferred"
	DropSend  VerdictAction = "dropped"
)
