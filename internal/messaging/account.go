package messaging

// DefaultAccount is what people call the account of the section api in config.yaml. In rows, and in
// fields of the nouns, it is "".
const DefaultAccount = "api"

// AccountKey is an account as rows name it.
func AccountKey(name string) string {
	if name == DefaultAccount {
		return ""
	}
	return name
}

// AccountName is an account as people name it.
func AccountName(key string) string {
	if key == "" {
		return DefaultAccount
	}
	return key
}

// EveryAccount is what store.Options.OnDue is told where something of any account may be due. No account has
// that name.
const EveryAccount = "*"
