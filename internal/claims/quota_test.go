package claims

import (
	"testing"

	"pgregory.net/rapid"
)

func TestQuota(t *testing.T) {
	const all = 1 << 30
	seats := Lanes{Urgent: 16, Marketing: 14}
	tests := map[string]struct {
		held              Lanes
		urgent, marketing bool
		full              bool
		room              Lanes
		want              Lanes
	}{
		"nothing in hand: urgent its own seats, marketing the rest": {Lanes{}, true, true, false, Lanes{all, all}, Lanes{2, 14}},
		"only urgent wanted: all seats":                             {Lanes{}, true, false, false, Lanes{all, all}, Lanes{16, 0}},
		"only marketing wanted: its seats, no more":                 {Lanes{}, false, true, false, Lanes{all, all}, Lanes{0, 14}},
		"marketing is full: the reserved seats stay urgent's":       {Lanes{0, 14}, true, true, false, Lanes{all, all}, Lanes{2, 0}},
		"urgent is known to have more: all but a quarter":           {Lanes{}, true, true, true, Lanes{all, all}, Lanes{12, 4}},
		"urgent in marketing's seats: still one a claim":            {Lanes{10, 2}, true, true, false, Lanes{all, all}, Lanes{1, 3}},
		"no seat":                                          {Lanes{10, 6}, true, true, false, Lanes{all, all}, Lanes{}},
		"a narrow rate serves urgent first":                {Lanes{}, true, true, false, Lanes{1, 1}, Lanes{1, 0}},
		"a narrow rate without urgent ones":                {Lanes{}, false, true, false, Lanes{3, 3}, Lanes{0, 3}},
		"what marketing has queued is not in urgent's way": {Lanes{0, 4}, true, true, false, Lanes{4, 0}, Lanes{4, 0}},
		"nothing wanted":                                   {Lanes{}, false, false, false, Lanes{all, all}, Lanes{}},
		"one seat left and urgent knows of nothing":        {Lanes{4, 11}, false, true, false, Lanes{all, all}, Lanes{0, 1}},
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
		seats := Lanes{Urgent: rapid.IntRange(1, 256).Draw(t, "seats")}
		seats.Marketing = rapid.IntRange(1, seats.Urgent).Draw(t, "marketing seats")
		held := Lanes{Urgent: rapid.IntRange(0, seats.Urgent).Draw(t, "urgent held")}
		held.Marketing = rapid.IntRange(0, min(seats.Marketing, seats.Urgent-held.Urgent)).Draw(t, "marketing held")
		urgent, marketing := rapid.Bool().Draw(t, "urgent"), rapid.Bool().Draw(t, "marketing")
		room := Lanes{rapid.IntRange(-9, 300).Draw(t, "urgent room"), 0}
		room.Marketing = rapid.IntRange(-9, max(-9, room.Urgent)).Draw(t, "room")
		got := quota(seats, held, urgent, marketing, rapid.Bool().Draw(t, "full"), room)
		idle := seats.Urgent - held.Urgent - held.Marketing
		switch {
		case got.Urgent < 0 || got.Marketing < 0:
			t.Fatalf("%+v is negative", got)
		case got.Urgent+got.Marketing > idle || got.Urgent > max(0, room.Urgent) || got.Marketing > 0 && got.Urgent+got.Marketing > room.Marketing:
			t.Fatalf("%+v is more than %d idle seats or a room of %+v", got, idle, room)
		case held.Marketing+got.Marketing > seats.Marketing:
			t.Fatalf("%+v lets marketing pass its %d seats", got, seats.Marketing)
		case !urgent && got.Urgent > 0 || !marketing && got.Marketing > 0:
			t.Fatalf("%+v asks for what is not wanted", got)
		case urgent && idle > 0 && room.Urgent > 0 && got.Urgent+got.Marketing == 0:
			t.Fatalf("idle seats, and nothing is asked for")
		}
	})
}
