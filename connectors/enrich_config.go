package connectors

import (
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/units"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// An EnrichRule is one GET that fetches what a webhook left out. It is made after the sender
// got its 2xx, for events that a trigger listens to.
type EnrichRule struct {
	When       []string                `yaml:"when" doc:"Conditions for the look-up, all of which must hold: those of skip_if, and phone == null, which asks for the number that was mapped. phone == null unless said otherwise." example:"phone == null"`
	Get        string                  `yaml:"get" validate:"required" doc:"The address. {path} is a value of the item, escaped for its position; an address that begins with / follows api_url." example:"/crm/v3/objects/contacts/{objectId}?properties=phone"`
	Headers    yamlpos.Ordered[string] `yaml:"headers" doc:"More headers of the request."`
	Auth       *EnrichAuth             `yaml:"auth" doc:"How the request authenticates."`
	Into       string                  `yaml:"into" validate:"required" doc:"The name under which the answer joins the item; map reads it as any other part: lead.phone. Rules that stand together may have one name: the first that is needed answers for all of them." example:"lead"`
	Cache      units.Duration          `yaml:"cache" doc:"How long an answer counts for other events with the same address; not at all unless set." example:"10m"`
	Rate       units.Rate              `yaml:"rate" doc:"Most requests to the address's host by this connector." example:"10/s"`
	AllowHosts []string                `yaml:"allow_hosts" doc:"Hosts that may be asked; the address's must be among them." example:"[api.hubapi.com]"`
}

// An EnrichAuth says how a look-up authenticates. Its secrets are the connector's token and
// oauth unless it has its own.
type EnrichAuth struct {
	Kind   string        `yaml:"kind" validate:"required,oneof=bearer basic header oauth2" doc:"bearer: the token in Authorization; header: the token in another header or with another word before it; basic: user and password; oauth2: a token that is fetched and renewed."`
	Header string        `yaml:"header" doc:"For header and oauth2: the header's name; Authorization unless said otherwise." example:"X-Auth-Token"`
	Prefix string        `yaml:"prefix" doc:"For header and oauth2: the text before the token." example:"'Klaviyo-API-Key '"`
	Token  secret.Secret `yaml:"token" doc:"For bearer and header: the token, if it is not the connector's."`

	UserHeader string `yaml:"user_header" doc:"For header: another header, which names the user; the token is then user:token." example:"X-PW-UserEmail"`

	User     string        `yaml:"user" doc:"For basic: the user's name; without it the password is user:password."`
	Password secret.Secret `yaml:"password" doc:"For basic: the password; the connector's token unless set."`

	OAuth `yaml:",inline"`
}

// OAuth is what fetches and renews an access token: by a refresh token, else by the client's
// own credentials.
type OAuth struct {
	TokenURL     string        `yaml:"token_url" doc:"For oauth2: the address that gives access tokens." example:"https://accounts.zoho.com/oauth/v2/token"`
	Grant        string        `yaml:"grant" validate:"oneof=refresh_token client_credentials" doc:"For oauth2: how the token is got; refresh_token where there is one, else client_credentials."`
	ClientID     string        `yaml:"client_id" doc:"For oauth2: the client's id."`
	ClientSecret secret.Secret `yaml:"client_secret" doc:"For oauth2: the client's secret."`
	RefreshToken secret.Secret `yaml:"refresh_token" doc:"For oauth2: the refresh token; without it the client's own credentials are used. One that its provider gives instead is kept in the database; another one here replaces that."`
	Scope        string        `yaml:"scope" doc:"For oauth2: the scope to ask for."`
}
