package phones

// Some numbers have two spellings that reach the same telephone: a messaging network writes the one, a shop the other.
// Identity is the only place that knows them. What compares people compares identities; what is sent keeps the spelling
// that the shop gave.
//
// A twin is one where either spelling leads to the other by digits alone, and where no other telephone has the second one:
//
//   - Brazil: mobile numbers got a 9 in front of their eight digits between 2012 and 2016 (Anatel, resolution 553). WhatsApp
//     keeps ids without it (devlikeapro/waha#1976, wwebjs/whatsapp-web.js#86413). Eight digits that begin with 2 to 5 are
//     landlines, and have none.
//   - Mexico: the 1 behind 52 marked mobile numbers until August 2019 (IFT). WhatsApp keeps it (chatwoot/chatwoot#14174).
//   - Argentina: the 9 behind 54 marks a call to a mobile from abroad. The number behind it is the one that is dialled at
//     home, and landlines have numbers of their own (ENACOM, plan fundamental de numeración).
//   - Benin: since 30 November 2024 all numbers of eight digits begin with 01 (ARCEP).
//
// Côte d'Ivoire is no such case: which two digits came in front of a number in 2021 depends on whose it was.

// Identity is the one spelling by which a number is known, whatever its network or shop writes: digits themselves for all
// but the spellings above. digits are those of Read. The identity of an identity is itself.
func Identity[T string | []byte](digits T) T {
	switch {
	case len(digits) == 12 && begins(digits, "55") && digits[2] != '0' && digits[3] != '0' && digits[4] >= '6':
		return T(string(digits[:4]) + "9" + string(digits[4:]))
	case len(digits) == 13 && begins(digits, "521") && digits[3] >= '2':
		return T("52" + string(digits[3:]))
	case len(digits) == 13 && begins(digits, "549") && digits[3] != '0':
		return T("54" + string(digits[3:]))
	case len(digits) == 11 && begins(digits, "229") && digits[3] != '0':
		return T("22901" + string(digits[3:]))
	default:
		return digits
	}
}

// Spellings are all ways to write the number that has this identity, the identity first.
func Spellings(identity string) []string {
	all := []string{identity}
	for _, other := range []string{dropDigits(identity, 4, "9"), insert(identity, 2, "1"), insert(identity, 2, "9"), dropDigits(identity, 3, "01")} {
		if other != identity && Identity(other) == identity {
			all = append(all, other)
		}
	}
	return all
}

func begins[T string | []byte](digits T, with string) bool { return string(digits[:len(with)]) == with }

// dropDigits is digits without those that stand there, and digits where others do.
func dropDigits(digits string, at int, those string) string {
	if len(digits) < at+len(those) || digits[at:at+len(those)] != those {
		return digits
	}
	return digits[:at] + digits[at+len(those):]
}

func insert(digits string, at int, those string) string {
	if len(digits) < at {
		return digits
	}
	return digits[:at] + those + digits[at:]
}
