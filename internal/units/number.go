package units

import "strconv"

// Number writes 1234567 as 1,234,567.
func Number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// Count writes how many there are of what one of them is called: 1 row, 1,200 rows.
func Count[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(int64(n)) + " " + one + "s"
}
