package yamlpos

import (
	"regexp"
	"strings"
)

// hide stars out the value of n wherever its line is shown, but for names of variables and files that hold a secret.
func (d *Doc) hide(n *Node) {
	n.secret = true
	if n.raw == "" {
		return
	}
	last, end := n.end()
	for line := n.line; line <= last && line <= len(d.lines); line++ {
		from, to := 1, len([]rune(d.lines[line-1]))+1
		if line == n.line {
			from = n.col
		}
		if line == last && end > 0 {
			to = end
		}
		d.hidden[line] = append(d.hidden[line], span{from, to})
	}
}

// end is the last line of a scalar in the file and the column behind it, 0 for all of that line. Where
// text and file cannot be held side by side it is generous.
func (n *Node) end() (line, col int) {
	text := strings.TrimRight(n.raw, "\n")
	a, ok := n.align()
	if !ok || !a.advance(text, len(text)) {
		return n.line + strings.Count(n.raw, "\n") + 1, 0 // a block's lines follow its header
	}
	switch line, col = a.position(); {
	case a.style.block():
		col = 0
	case a.style != plainStyle:
		col++
	}
	return line, col
}

// line is a line of the source as it may be shown, secrets starred out.
func (d *Doc) line(number int) string { return HideURLs(d.shown(number)) }

func (d *Doc) shown(number int) string {
	if number < 1 || number > len(d.lines) {
		return ""
	}
	if d.root == nil {
		return guessSecrets(d.lines[number-1])
	}
	spans := d.hidden[number]
	if len(spans) == 0 {
		return d.lines[number-1]
	}
	runes := []rune(d.lines[number-1])
	for _, s := range spans {
		if to := min(s.to-1, len(runes)); s.from-1 < to {
			copy(runes[s.from-1:to], []rune(stars(string(runes[s.from-1:to]))))
		}
	}
	return string(runes)
}

// Without a tree nobody knows what is a secret, so what follows the usual names of one is
// taken for it, unless it is a reference.
var (
	secretKey = regexp.MustCompile(`(?i)\b(?:secrets?|passwords?|dsn|tokens?|[a-z_]+_(?:secret|password|token|key)|key)["']?\s*:\s*`)
	plainPath = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)*(\[\d+\])?$`) // "key: cart.id" is no secret
)

// guessSecrets stars out what looks like a secret in a line that could not be parsed.
func guessSecrets(line string) string {
	at := secretKey.FindStringIndex(line)
	if at == nil {
		return line
	}
	name, rest := line[:at[1]], line[at[1]:]
	end := strings.IndexAny(rest, ",#")
	if end < 0 {
		end = len(rest)
	}
	value := strings.TrimRight(rest[:end], " \t}")
	if refers := reference.FindString(rest); refers != "" && strings.HasPrefix(rest, refers) { // what is not written close to it is another thing
		shut, _, _ := strings.Cut(rest[len(refers):], " ")
		value = refers + strings.TrimRight(shut, "\t},")
	}
	shown := stars(value)
	isKey := strings.EqualFold(strings.Trim(line[at[0]:at[1]], "\"': \t"), "key")
	if isKey && plainPath.MatchString(value) {
		shown = value
	}
	return name + shown + guessSecrets(rest[len(value):])
}
