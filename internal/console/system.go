package console

import (
	"net/http"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/server"
)

type systemPage struct {
	Status   server.StatusView
	Accounts []server.AccountView // the one of the section api where there are no others
	Holds    []messaging.Hold
}

func (c *Console) system(r *http.Request) (page, error) {
	status, err := server.ShowStatus.Call(r.Context(), c.Ask, server.None{})
	v := systemPage{Status: status, Holds: besides(status.Holds)}
	if d := status.Daemon; d != nil {
		if v.Accounts = d.Accounts; len(v.Accounts) == 0 {
			v.Accounts = []server.AccountView{{Name: "api", API: d.API, Rate: d.Rate, UnderWay: d.UnderWay}}
		}
	}
	return page{Name: "system", Title: "System", Here: "/system", Data: v, Shows: v.Holds}, err
}
