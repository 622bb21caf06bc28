package claims

import (
	"testing"

	"pgregory.net/rapid"
)

func TestQuota(t *testing.T) {
	const all = 1 << 30
	free := Lanes{all, all, all}
	seats := Lanes{16, 15, 14}
	type lanes = [MaxLanes]bool
	tests := map[string]struct {
		held       Lanes
		want, full lanes
		room       Lanes
		quota      Lanes
	}{
		"nothing in hand: each lane its own seats, the last the rest": {Lanes{}, lanes{true, true, true}, lanes{}, free, Lanes{1, 1, 14}},
		"only the first wanted: all seats":                            {Lanes{}, lanes{true}, lanes{}, free, Lanes{16}},
		"only the second wanted: its seats, no more":                  {Lanes{}, lanes{false, true}, lanes{}, free, Lanes{0, 15}},
		"only the last wanted: its seats, no more":                    {Lanes{}, lanes{false, false, true}, lanes{}, free, Lanes{0, 0, 14}},
		"the last is full: the reserved seats stay the others'":       {Lanes{0, 0, 14}, lanes{true, true, true}, lanes{}, free, Lanes{1, 1, 0}},
		"the second has all its seats: the first has its own":         {Lanes{0, 15, 0}, lanes{true, true, true}, lanes{}, free, Lanes{1, 0, 0}},
		"the first is known to have more: all but a quarter":          {Lanes{}, lanes{true, false, true}, lanes{true}, free, Lanes{12, 0, 4}},
		"the second is known to have more: all but a quarter of its":  {Lanes{}, lanes{false, true, true}, lanes{false, true}, free, Lanes{0, 12, 3}},
		"the first in the seats of the others: still one a claim":     {Lanes{10, 0, 2}, lanes{true, false, true}, lanes{}, free, Lanes{1, 0, 3}},
		"no seat":                                        {Lanes{6, 4, 6}, lanes{true, true, true}, lanes{}, free, Lanes{}},
		"a narrow rate serves the first":                 {Lanes{}, lanes{true, true, true}, lanes{}, Lanes{1, 1, 1}, Lanes{1, 0, 0}},
		"a narrow rate without the first":                {Lanes{}, lanes{false, true, true}, lanes{}, Lanes{1, 1, 1}, Lanes{0, 1, 0}},
		"a narrow rate without urgent ones":              {Lanes{}, lanes{false, false, true}, lanes{}, Lanes{3, 3, 3}, Lanes{0, 0, 3}},
		"what the last has queued is not in others' way": {Lanes{0, 0, 4}, lanes{true, true, true}, lanes{}, Lanes{4, 4, 0}, Lanes{4, 0, 0}},
		"nothing wanted":                                 {Lanes{}, lanes{}, lanes{}, free, Lanes{}},
		"one seat left and the first knows of nothing":   {Lanes{4, 0, 11}, lanes{false, false, true}, lanes{}, free, Lanes{0, 0, 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := quota(seats, tt.held, tt.want, tt.full, tt.room); got != tt.quota {
				t.Errorf("quota = %+v, want %+v", got, tt.quota)
			}
		})
	}
}

func TestQuotaNeverPassesItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var seats, held, room Lanes
		var want, full [MaxLanes]bool
		most, left := 256, 300
		for lane := range seats {
			most = rapid.IntRange(1, most).Draw(t, "seats")
			seats[lane] = most
			left = rapid.IntRange(-9, max(-9, left)).Draw(t, "room")
			room[lane] = left
			want[lane], full[lane] = rapid.Bool().Draw(t, "want"), rapid.Bool().Draw(t, "full")
		}
		for lane := MaxLanes - 1; lane >= 0; lane-- {
			held[lane] = rapid.IntRange(0, seats[lane]-held.from(lane)).Draw(t, "held")
		}
		got := quota(seats, held, want, full, room)
		idle := seats[0] - held.from(0)
		sum := 0
		for lane := range got {
			sum += got[lane]
			switch {
			case got[lane] < 0:
				t.Fatalf("%+v is negative", got)
			case got[lane] > 0 && sum > room[lane]:
				t.Fatalf("%+v is more than a room of %+v", got, room)
			case got[lane] > 0 && held.from(lane)+got.from(lane) > seats[lane]:
				t.Fatalf("%+v lets lane %d and those behind it pass their %d seats", got, lane, seats[lane])
			case !want[lane] && got[lane] > 0:
				t.Fatalf("%+v asks for what is not wanted", got)
			}
		}
		switch {
		case sum > idle:
			t.Fatalf("%+v is more than %d idle seats", got, idle)
		case want[0] && idle > 0 && room[0] > 0 && sum == 0:
			t.Fatalf("idle seats, and nothing is asked for")
		}
	})
}
