package scheduler

// A Problem is one thing wrong in a job. Path is within the job, "columns.var_1" or
// "source.http.url", and Offset the byte of the text there.
type Problem struct {
	Job     string
	Path    string
	Offset  int
	Msg     string
	Hint    string // what to do; "" when there is no good advice
	Warning bool   // valid, but probably not what is meant
}

// Error is the problem in one line.
func (p Problem) Error() string {
	text := p.Msg
	if p.Path != "" {
		text = p.Path + ": " + text
	}
	if p.Job != "" {
		text = p.Job + "." + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return text
}
