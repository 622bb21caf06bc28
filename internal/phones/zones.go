package phones

import "github.com/nyaruka/phonenumbers"

// Zones lists the IANA zones that a number may be used in, as its prefix says; nil where it says
// none. The list is the library's own: it is not copied, and must not be changed.
func Zones(digits string) []string {
	zones, err := phonenumbers.GetTimezonesForPrefix(digits)
	if err != nil || len(zones) == 0 || zones[0] == phonenumbers.UNKNOWN_TIMEZONE {
		return nil
	}
	return zones
}
