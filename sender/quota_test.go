package sender

import (
	"testing"

	"pgregory.net/rapid"
)

func TestQuota(t *testing.T) {
	const all = 1 << 30
	seats := lanes{urgent: 16, marketing: 14}
	tests := map[string]struct {
		held              lanes
		urgent, marketing bool
		full              bool
		room              lanes
		want              lanes
	}{
		"nothing in hand: urgent its own seats, marketing the rest": {lanes{}, true, true, false, lanes{all, all}, lanes{2, 14}},
		"only urgent wanted: all seats":                             {lanes{}, true, false, false, lanes{all, all}, lanes{16, 0}},
		"only marketing wanted: its seats, no more":                 {lanes{}, false, true, false, lanes{all, all}, lanes{0, 14}},
		"marketing is full: the reserved seats stay urgent's":       {lanes{0, 14}, true, true, false, lanes{all, all}, lanes{2, 0}},
		"urgent is known to have more: all but a quarter":           {lanes{}, true, true, true, lanes{all, all}, lanes{12, 4}},
		"urgent in marketing's seats: still one a claim":            {lanes{10, 2}, true, true, false, lanes{all, all}, lanes{1, 3}},
		"no seat":                                          {lanes{10, 6}, true, true, false, lanes{all, all}, lanes{}},
		"a narrow rate serves urgent first":                {lanes{}, true, true, false, lanes{1, 1}, lanes{1, 0}},
		"a narrow rate without urgent ones":                {lanes{}, false, true, false, lanes{3, 3}, lanes{0, 3}},
		"what marketing has queued is not in urgent's way": {lanes{0, 4}, true, true, false, lanes{4, 0}, lanes{4, 0}},
		"nothing wanted":                                   {lanes{}, false, false, false, lanes{all, all}, lanes{}},
		"one seat left and urgent knows of nothing":        {lanes{4, 11}, false, true, false, lanes{all, all}, lanes{0, 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quota(seats, tt.held, tt.urgent, tt.marketing, tt.full, tt.room); got != tt.want {
				t.Errorf("quota = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestQuotaNeverPassesItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seats := lanes{urgent: rapid.IntRange(1, 256).Draw(t, "seats")}
		seats.marketing = rapid.IntRange(1, seats.urgent).Draw(t, "marketing seats")
		held := lanes{urgent: rapid.IntRange(0, seats.urgent).Draw(t, "urgent held")}
		held.marketing = rapid.IntRange(0, min(seats.marketing, seats.urgent-held.urgent)).Draw(t, "marketing held")
		urgent, marketing := rapid.Bool().Draw(t, "urgent"), rapid.Bool().Draw(t, "marketing")
		room := lanes{rapid.IntRange(-9, 300).Draw(t, "urgent room"), 0}
		room.marketing = rapid.IntRange(-9, max(-9, room.urgent)).Draw(t, "room")
		got := quota(seats, held, urgent, marketing, rapid.Bool().Draw(t, "full"), room)
		idle := seats.urgent - held.urgent - held.marketing
		switch {
		case got.urgent < 0 || got.marketing < 0:
			t.Fatalf("%+v is negative", got)
		case got.urgent+got.marketing > idle || got.urgent > max(0, room.urgent) || got.marketing > 0 && got.urgent+got.marketing > room.marketing:
			t.Fatalf("%+v is more than %d idle seats or a room of %+v", got, idle, room)
		case held.marketing+got.marketing > seats.marketing:
			t.Fatalf("%+v lets marketing pass its %d seats", got, seats.marketing)
		case !urgent && got.urgent > 0 || !marketing && got.marketing > 0:
			t.Fatalf("%+v asks for what is not wanted", got)
		case urgent && idle > 0 && room.urgent > 0 && got.urgent+got.marketing == 0:
			t.Fatalf("idle seats, and nothing is asked for")
		}
	})
}
