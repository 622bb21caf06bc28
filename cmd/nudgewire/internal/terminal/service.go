package terminal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nudgewire/nudgewire/apiclient"
	"github.com/nudgewire/nudgewire/internal/config"
)

// servicePatience bounds the question to the messaging service.
const servicePatience = 5 * time.Second

// AskService asks the messaging service about a message that cannot be: it costs nothing, and the answer shows whether the key is
// taken. trouble says what is in the way, hint what to do; both are "" where the service answers.
func AskService(ctx context.Context, api *config.API, version string) (trouble, hint string) {
	client, err := apiclient.New(apiclient.Options{
		BaseURL: api.BaseURL, Key: api.Key.Reveal(), Timeout: servicePatience, UserAgent: "nudgewire/" + version, CAFile: api.CAFile,
	})
	if err != nil {
		return err.Error(), "see api: in the config"
	}
	defer client.Close()
	_, err = client.MessageStatus(ctx, "0")
	call, _ := errors.AsType[*apiclient.CallError](err)
	switch {
	case apiclient.TroubleOf(err) == apiclient.TroubleKey:
		return api.BaseURL + " refuses the API key",
			"copy the key anew from the service's dashboard to what api.key names; a key of the environment needs a restart of the daemon, any other \"nudgewire reload\""
	case call != nil && call.HTTPStatus == 0:
		return fmt.Sprintf("%s cannot be asked: %v", api.BaseURL, err), "look at api.base_url and the way to it"
	case call != nil && call.HTTPStatus >= 500:
		return fmt.Sprintf("%s is in trouble: %v", api.BaseURL, err), "try again later; messages wait meanwhile"
	}
	return "", ""
}
