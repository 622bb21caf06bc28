package suite

import (
	"errors"
	"testing"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/messaging"
)

func (s suite) configs(t *testing.T) {
	l := s.open(t)
	for _, text := range []string{"api: {}", "api: {rate: 20/s}"} {
		l.must(history.Records{Store: l.Store}.SaveConfig(l.ctx, &history.Config{Version: "v1", Text: text}, noon))
		var got []string
		err := history.Records{Store: l.Store}.Configs(l.ctx, func(version, text string) bool { got = append(got, version, text); return false })
		l.must(err)
		same(t, "configs", []string{"v1", text}, got)
	}
	t.Run("files are kept as they are, and a secret has the same name each time", func(t *testing.T) {
		l := s.open(t)
		files := []history.ConfigFile{{Name: "config.yaml", Text: "a: b\r\n"}, {Name: "more/a.yaml", Text: ""}}
		for range 2 {
			l.must(history.Records{Store: l.Store}.SaveConfig(l.ctx, &history.Config{Version: "v1", Text: "a: b", Files: files}, noon))
		}
		got, err := history.Records{Store: l.Store}.ConfigFiles(l.ctx, "v1")
		l.must(err)
		same(t, "files", files, got)
		if _, err := (history.Records{Store: l.Store}).ConfigFiles(l.ctx, "v2"); !errors.Is(err, messaging.ErrNotFound) {
			t.Errorf("of none that was used: %v", err)
		}
		name := l.Marks.Secret("hunter2")
		if name == "" || name != l.Marks.Secret("hunter2") || name == l.Marks.Secret("hunter3") {
			t.Errorf("named %q", name)
		}
	})
	t.Run("years of retention remove none, since what is open names one for as long as it is open", func(t *testing.T) {
		l := s.open(t)
		d := l.message(l.enqueue("1"))
		r := l.handedOver("1", 1)
		for _, version := range []string{d.Config, r.Config, "unused"} {
			l.must(history.Records{Store: l.Store}.SaveConfig(l.ctx, &history.Config{Version: version, Text: "api: {}"}, noon))
		}
		l.mustSet(r, messaging.RunPaused)
		l.retain(4000)
		same(t, "what waits", messaging.StateWaiting, l.message(d.ID).State)
		for _, version := range []string{d.Config, r.Config, "unused"} {
			if text, err := (history.Records{Store: l.Store}).Config(l.ctx, version); err != nil || text != "api: {}" {
				t.Errorf("config %q: %q, %v", version, text, err)
			}
		}
	})
}
