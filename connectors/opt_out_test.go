package connectors

import (
	"testing"
)

func TestWhatAMessageAnswers(t *testing.T) {
	c := &Connector{}
	own := &Connector{config: Config{OptOut: OptOut{On: true, Stop: []string{"Keine Werbung *"}, Start: []string{"Doch"}}}}
	for _, tt := range []struct {
		c    *Connector
		text string
		want Answer
	}{
		{c, "STOP", AnswersStop},
		{c, "  stop.  ", AnswersStop},
		{c, "Stop!!!", AnswersStop},
		{c, "STOPP", AnswersStop},
		{c, "Arrêt", AnswersStop},
		{c, "BAJA", AnswersStop},
		{c, "stop sending me this", AnswersStop},
		{c, "STOP\nSent from my phone", AnswersStop},
		{c, "стоп", AnswersStop},
		{c, "ＳＴＯＰ！！", AnswersStop},
		{c, "退订", AnswersStop},
		{c, "cancel", AnswersStop},
		{c, "cancel my order, please", AnswersNothing},
		{c, "please do not stop", AnswersNothing},
		{c, "stopping by at 5", AnswersNothing},
		{c, "", AnswersNothing},
		{c, "?!", AnswersNothing},
		{c, "START", AnswersStart},
		{c, "start", AnswersStart},
		{c, "S'abonner", AnswersStart},
		{c, "start time?", AnswersNothing},
		{own, "keine werbung bitte", AnswersStop},
		{own, "STOP", AnswersNothing},
		{own, "doch!", AnswersStart},
	} {
		if got := tt.c.Answer(tt.text); got != tt.want {
			t.Errorf("%q answers %d, want %d", tt.text, got, tt.want)
		}
	}
}

// No usual word means both.
func TestNoUsualWordMeansBoth(t *testing.T) {
	for _, w := range startWords {
		if says(plainWords(w), stopWords) {
			t.Errorf("%q", w)
		}
	}
}
