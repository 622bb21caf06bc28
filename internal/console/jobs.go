package console

import (
	"net/http"
	"slices"

	"github.com/nudgewire/nudgewire/internal/access"
	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/refusal"
	"github.com/nudgewire/nudgewire/internal/server"
)

type jobsPage struct {
	list
	Jobs  []server.JobView
	Runs  []server.RunView
	Lanes runTimeline
}

func (c *Console) jobs(r *http.Request) (page, error) {
	jobs, err := server.ListJobs.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return page{}, err
	}
	v := jobsPage{Jobs: jobs}
	if v.Lanes, err = c.timelineOfRuns(r.Context()); err != nil {
		return page{}, err
	}
	v.list, v.Runs, err = c.runs(r, "")
	return page{Name: "jobs", Title: "Jobs", Here: "/jobs", Data: v}, err
}

// runs are a page of them, of a job or of all.
func (c *Console) runs(r *http.Request, job string) (list, []server.RunView, error) {
	l, q, err := c.newList(r)
	if err != nil {
		return l, nil, err
	}
	q.Trigger = job
	rows, err := server.ListRuns.Call(r.Context(), c.Ask, q)
	return l, cut(&l, r, rows, func(v *server.RunView) int64 { return int64(v.ID) }), err
}

type jobPage struct {
	list
	Job      server.JobView
	Runs     []server.RunView
	Forecast *server.ForecastView
	May      bool // have a list read
}

func (c *Console) job(r *http.Request) (page, error) {
	v, err := c.jobOf(r)
	if err == nil {
		v.list, v.Runs, err = c.runs(r, v.Job.Name)
	}
	return page{Name: "job", Title: "Job " + v.Job.Name, Here: "/jobs", Data: v}, err
}

func (c *Console) jobOf(r *http.Request) (jobPage, error) {
	name := r.PathValue("name")
	jobs, err := server.ListJobs.Call(r.Context(), c.Ask, server.None{})
	if err != nil {
		return jobPage{}, err
	}
	i := slices.IndexFunc(jobs, func(j server.JobView) bool { return j.Name == name })
	if i < 0 {
		return jobPage{}, &refusal.Error{Status: http.StatusNotFound, Words: "the config has no job of that name", Hint: "the page Jobs lists those that it has"}
	}
	who, _ := access.WhoOf(r.Context())
	return jobPage{Job: jobs[i], May: who.May(access.Operate)}, nil
}

// forecast has the job's list read. It changes nothing, and is asked for by a button and no link because it may take long.
func (c *Console) forecast(r *http.Request) (page, error) {
	v, err := c.jobOf(r)
	if err != nil {
		return page{}, err
	}
	told, err := server.ForecastJob.Call(r.Context(), c.Ask, v.Job.Name)
	v.Forecast = &told
	return page{Name: "forecast", Title: "Forecast of " + v.Job.Name, Here: "/jobs", Data: v}, err
}

type runPage struct {
	Run      *server.RunView
	Messages []counted
	Again    bool // it ended, and something of it may be sent once more
}

// again reports whether a retry of a run may find something; its forecast says what.
func again(run *server.RunView) bool {
	failed := func(states ...messaging.State) (some bool) {
		for _, s := range states {
			some = some || run.Messages[string(s)] > 0
		}
		return some || run.Messages[string(messaging.StatusFailed)] > 0
	}
	return run.State == messaging.RunPartial || run.State == messaging.RunFailed || run.State == messaging.RunCancelled || run.State == messaging.RunDone && failed(messaging.StateRejected, messaging.StateDropped)
}

func (c *Console) run(r *http.Request) (page, error) {
	id, err := number(r, "a run")
	if err != nil {
		return page{}, err
	}
	run, err := server.ShowRun.Call(r.Context(), c.Ask, messaging.RunID(id))
	return page{Name: "run", Title: "Run " + r.PathValue("id") + " of " + run.Job, Here: "/jobs", Data: runPage{&run, byCount(run.Messages), again(&run)}, Shows: []messaging.Hold{messaging.RunHold(run.ID, "")}}, err
}
