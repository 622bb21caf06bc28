package config

import (
	"strings"

	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// A CodeInfo is the code of a kind of problem, with what it says.
type CodeInfo struct {
	Code yamlpos.Code
	Says string
}

// Codes are those of all problems that a config may have, in the order of docs/problems.md.
func Codes() []CodeInfo { return codes }

var codes = []CodeInfo{
	{yamlpos.Unreadable, "a file is not there, cannot be read, or is too long"},
	{yamlpos.Syntax, "the text is no YAML, or its indentation puts something where it does not belong"},
	{yamlpos.UnknownKey, "there is no such key"},
	{yamlpos.DuplicateKey, "a key stands twice"},
	{yamlpos.MissingKey, "a required key is not there"},
	{yamlpos.WrongValue, "a value is none that the key takes, or a reference such as ${NAME} leads to nothing"},
	{"connector-wrong", "a connector cannot work as it is described"},
	{"trigger-wrong", "a trigger cannot work: its events, conditions, key, waits or what it sends"},
	{"template-wrong", "the declaration of a template is at fault, or a use differs from it"},
	{"job-wrong", "a job cannot work: its source, columns, clock or what it sends"},
	{"setting-wrong", "another section cannot work as it is"},

	{yamlpos.WeakSecret, "a secret could be guessed"},
	{"connector-doubtful", "a connector works, and less safely or otherwise than is likely meant"},
	{"trigger-doubtful", "a trigger works, and otherwise than is likely meant"},
	{"job-doubtful", "a job works, and otherwise than is likely meant"},
	{"setting-doubtful", "another section works, and otherwise than is likely meant"},

	{"nothing-comes-in", "there are no connectors"},
	{"nothing-is-sent", "there are no triggers"},
	{"no-country", "numbers without a country code cannot be read"},
	{"connector-unheard", "no trigger listens to a connector"},
	{"history-goes-on", "all that a connector posts is history"},
	{"history-over", "the time of history: has passed"},
	{"public-url-unset", "a sender signs the address, which is not known"},
	{"account-unused", "nothing is sent by an account"},
	{"account-twice", "two accounts have one key"},
	{"alert-never-told", "what an alert waits for never happens"},

	{"field-never-carried", "a field is read that none of the events can have"},
	{"event-never-passes", "an event of on lacks what a condition needs: it never sends"},
	{"phone-never-carried", "an event of on never has a phone"},
	{"variable-empty", "a variable without a default that a sample of the event leaves empty"},
	{"cancel-key-missing", "a cancelling event never has the key"},
	{"conditions-contradict", "no event meets all conditions"},
	{"kind-unsent", "no connector sends a kind"},
	{"hears-everything", "a trigger hears every event"},
	{"twice-in-list", "an entry stands twice in a list"},
	{"queues-and-cancels", "an event both queues a message and cancels it"},
	{"queues-and-stops", "an event both queues a message and stops what waits"},
	{"sent-twice", "two triggers send one thing because of the same event"},
	{"nothing-cancels", "nothing ends a reminder when the cart is bought"},
	{"on-repeat-ends-all", "every event waits for itself, and one cancels them all"},
	{"burst", "a change sends at once, and changes come in bursts"},
	{"consent-unasked", "marketing that does not ask for consent"},
	{"consent-is-email", "permission to be sent e-mail is taken for consent"},
	{"resend-in-doubt", "marketing that is sent again in doubt"},

	{"wait-long", "a very long wait"},
	{"wait-into-quiet", "a time of day to wait for that is quiet"},
	{"cooldown-short", "a cooldown that is over before the wait is"},
	{"expires-soon", "an expiry that leaves hardly a moment to send"},
	{"expires-below-wait", "an expiry shorter than the wait, from whose end it counts"},
	{"expires-before-limit", "an expiry that ends the wait of a contact that has got enough"},
	{"expires-in-quiet", "messages expire before quiet hours end"},
	{"max-age-short", "an age shorter than senders need to repeat"},
	{"max-age-below-wait", "an age shorter than the wait, which it does not end"},
	{"quiet-always", "quiet hours that leave no hour"},
	{"cron-in-quiet-hours", "a job fires when its quiet hours drop what it has"},
	{"max-defer-unused", "max_defer beside on_hit: drop"},
	{"max-defer-short", "max_defer shorter than the quiet hours"},
	{"holidays-past", "a file of holidays has only dates that are past"},
	{"holidays-empty", "a file of holidays has no date"},
	{"limit-of-nothing", "a limit lets no message go"},
	{"limit-below-steps", "a limit that the trigger's own steps use up"},
	{"rate-of-codes", "a rate on messages that somebody waits for"},
	{"rate-outlasts", "a rate whose window is longer than the messages live"},
	{"exempt", "a rule that is not about messages of this category"},

	{"template-name", "a name that no template can have"},
	{"template-undeclared", "a name that is nearly a declared one"},
	{"template-variables", "uses of one template with different numbers of variables"},
	{"template-category", "uses of one template with different categories"},
	{"template-language", "uses of one template in different languages"},
	{"marketing-as-utility", "words of an advertisement in category utility"},
	{"file-not-there", "a list of a job is not there now"},

	{"api-version", "the address of the service names another version"},
	{"unencrypted", "something is open to whoever is on the way"},
	{"certificate", "a certificate is old, or for another name"},
	{"certificate-key-open", "every user of the machine may read a private key"},
	{"metrics-open", "figures are open to all addresses"},
	{"anybody-signs-in", "everybody with an account at the provider may sign in"},
	{"poll-order", "a short wait for a status after a long one"},
	{"give-up-long", "unread messages are asked about for very long"},
}

// coded gives the problems that their finder gave no code that of where they stand.
func coded(all yamlpos.Problems) yamlpos.Problems {
	for i := range all {
		if p := &all[i]; p.Code == "" {
			p.Code = codeOf(p)
		}
	}
	return all
}

func codeOf(p *yamlpos.Problem) yamlpos.Code {
	switch {
	case p.Line == 0:
		return yamlpos.Unreadable
	case p.Path == "":
		return yamlpos.Syntax
	}
	section := p.Path
	if end := strings.IndexAny(section, ".["); end >= 0 {
		section = section[:end]
	}
	noun := map[string]string{"connectors": "connector", "triggers": "trigger", "templates": "template", "jobs": "job"}[section]
	if noun == "" || p.Warning && noun == "template" {
		noun = "setting"
	}
	if p.Warning {
		return yamlpos.Code(noun + "-doubtful")
	}
	return yamlpos.Code(noun + "-wrong")
}
