// Package phones turns what people and systems write into the only shape a messaging service
// takes: the digits of an international number, country code first, no plus sign.
//
// It judges form, not life: whether a number is in use is for the network to say. Three
// readings are tried, the surest first:
//
//  1. What the numbering plan of the country knows as a valid number.
//  2. A national number of a possible length in the given country. Plans change faster than
//     their published tables, and test and fiction numbers (555, 07700 900xxx) are in none.
//  3. A number written with a plus sign that has 10 to 15 digits and an existing country code,
//     though the plan says another length: taken as it was written, for the same reason.
//
// Letters are refused and not read as a keypad ("555-555-SHIP" is a placeholder, not a phone),
// and a number without plus sign never gets a country by guessing.
//
// Source of the plans: libphonenumber's metadata, through nyaruka/phonenumbers.
package phones
