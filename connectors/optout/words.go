package optout

// The usual words by which people say that they want no more messages, want them again, or want help, by language. A word is
// compared without case, accents and signs, and without a "please" or "thanks" on either side; the whole message must be the
// word. Of a word with a star it is enough that the message begins with it. "=" in front of a word keeps its accents: without
// them it is another word.
//
// A word that blocks by accident costs a contact the messages about its orders, and one that is missed costs it its say. So a
// word is in the table where a person who writes it alone, in answer to a message, can hardly mean anything else:
//
//   - a star only where what follows cannot turn the word into something else: "cancel my order", "arrêt de bus", "baja el
//     precio", "wypisz fakturę", "basta un'e-mail" and "توقف الجهاز" are no stops, so cancel, arrêt, baja, wypisz, basta and توقف have none;
//   - no word that answers ordinary questions: fin, fine, ende, koniec, konec, slutt, τέλος (it is over, it is fine), хватит,
//     די, chega, enough (it will do), seis (stop in Finnish, six in Spanish and Portuguese), peru (cancel, and a country), halt
//     (a filler in German), nomás and "no más" (that is all), बंद and closed, yes and no, 停车 and the like;
//   - none that ends a contract instead of messages: kündigen, résilier, opzeggen, 해지;
//   - no start by a word of menus or returns: voltar (back), reprendre, resume (a CV), continue, yes;
//   - dừng without its accent is also "right" and "do not", so it counts with it alone;
//   - a word that is ordinary in another language does not count for who speaks that one: ordinaryIn.
type languageWords struct {
	language          string // ISO 639-1
	stop, start, help []string
	please            []string // on either side of a word, it says no more
}

var usualWords = []languageWords{
	{
		"en",
		[]string{
			"stop *", "stopall", "stop all", "unsubscribe *", "unsub", "opt out *", "optout", "opt me out *", "cancel", "end", "quit", "revoke",
			"remove me *", "take me off *", "do not text me *", "don't text me *", "no more messages", "no more texts", "leave me alone",
		},
		[]string{"start", "unstop", "subscribe", "resubscribe", "opt in", "optin"},
		[]string{"help", "info"},
		[]string{"please", "pls", "plz", "thanks", "thank you", "thx"},
	},
	{
		"de",
		[]string{
			"stopp *", "abmelden", "abmeldung", "melde mich ab *", "melden sie mich ab *", "abbestellen", "newsletter abbestellen", "austragen", "aufhören",
			"aufhoeren", "werbung stoppen", "nachrichten stoppen", "keine werbung *", "keine nachrichten mehr", "keine weiteren nachrichten",
		},
		[]string{"anmelden", "wieder anmelden", "starten"},
		[]string{"hilfe", "infos"},
		[]string{"bitte", "danke", "vielen dank"},
	},
	{
		"fr",
		[]string{
			"arrêt", "arrêter", "arrêtez", "arrête", "arrêter de *", "arrêtez de *", "arrête de *", "stopper", "désabonner", "me désabonner *", "se désabonner",
			"désabonnez-moi *", "désabonnement", "désinscrire", "me désinscrire *", "désinscrivez-moi *", "désinscription", "ne plus recevoir *",
			"plus de messages", "plus de sms", "plus de pub",
		},
		[]string{"démarrer", "s'abonner", "m'abonner", "abonnez-moi"},
		[]string{"aide"},
		[]string{"s'il vous plaît", "s'il te plaît", "svp", "stp", "merci"},
	},
	{
		"es",
		[]string{
			"baja", "de baja", "dar de baja", "darme de baja *", "dame de baja *", "deme de baja *", "quiero darme de baja *", "alto", "parar", "pare", "paren de *",
			"detener", "detener promociones", "detener mensajes", "cancelar", "cancelar suscripción", "anular suscripción", "desuscribir", "desuscribirme *",
			"no más mensajes", "no más publicidad", "no más promociones", "no me envíen más *", "no me envíe más *", "no quiero recibir más *",
		},
		[]string{"alta", "darme de alta", "iniciar", "suscribir", "suscribirme", "reanudar"},
		[]string{"ayuda"},
		[]string{"por favor", "porfa", "gracias"},
	},
	{
		"pt",
		[]string{
			"parar", "parar de *", "pare de *", "parar mensagens", "parar promoções", "sair", "sair da lista", "descadastrar *", "descadastre-me *", "remover",
			"remover da lista", "me remova *", "me tire da lista", "cancelar inscrição", "interromper", "não quero receber *", "não quero mais receber *",
		},
		[]string{"inscrever", "inscrever-me", "quero receber", "reativar"},
		[]string{"ajuda"},
		[]string{"obrigado", "obrigada", "pfv"},
	},
	{
		"it",
		[]string{
			"basta", "basta messaggi", "basta pubblicità", "basta promozioni", "annulla", "annulla iscrizione", "cancella", "cancella iscrizione", "cancellami *",
			"disiscrivimi *", "disiscrivermi", "disiscrizione", "disattiva", "rimuovimi *", "smettetela *", "smettila *", "interrompi",
		},
		[]string{"avvia", "inizia", "iscrivimi"},
		[]string{"aiuto"},
		[]string{"per favore", "per piacere", "grazie"},
	},
	{
		"nl",
		[]string{
			"stoppen", "afmelden", "meld mij af *", "meld me af *", "uitschrijven", "schrijf mij uit *", "schrijf me uit *", "geen berichten meer", "geen reclame *",
		},
		[]string{"aanmelden", "inschrijven"},
		[]string{"hulp"},
		[]string{"alsjeblieft", "alstublieft", "aub", "graag", "bedankt", "dank je", "dank u"},
	},
	{
		"sv",
		[]string{
			"stoppa", "sluta", "sluta skicka *", "avsluta", "avregistrera", "avregistrera mig *", "avprenumerera *", "avanmäl", "avanmäl mig *", "inga fler meddelanden",
		},
		[]string{"starta", "prenumerera", "anmäl"},
		[]string{"hjälp"},
		[]string{"tack", "snälla"},
	},
	{
		"no",
		[]string{"stans", "avslutt", "avmeld", "avmeld meg *", "meld meg av *", "avregistrer", "avregistrer meg *", "ingen flere meldinger"},
		[]string{"abonner", "påmeld", "meld meg på"},
		[]string{"hjelp"},
		[]string{"takk", "vennligst"},
	},
	{
		"da",
		[]string{"ophør", "afmeld", "afmeld mig *", "frameld", "frameld mig *", "ikke flere beskeder"},
		[]string{"tilmeld", "tilmeld mig"},
		[]string{"hjælp"},
		[]string{"tak", "venligst"},
	},
	{
		"fi",
		[]string{"lopeta *", "lopettaa", "peruuta", "peruuta tilaus", "poista", "poista minut *", "ei enää viestejä"},
		[]string{"aloita", "tilaa"},
		[]string{"apua", "ohje", "ohjeet"},
		[]string{"kiitos"},
	},
	{
		"pl",
		[]string{
			"wypisz", "wypisz mnie *", "wypisanie", "rezygnuję", "anuluj", "usuń", "usuń mnie *", "zatrzymaj", "wyłącz", "przestań wysyłać *", "przestańcie *",
			"nie wysyłajcie *",
		},
		[]string{"zapisz", "zapisz mnie", "wznów"},
		[]string{"pomoc"},
		[]string{"proszę", "dziękuję"},
	},
	{
		"cs",
		[]string{"zastavit", "zastav", "odhlásit", "odhlásit se", "odhlas", "odhlaste mě *", "ukončit", "zrušit", "zruš", "neposílejte *"},
		[]string{"přihlásit", "přihlásit se", "odebírat"},
		[]string{"nápověda"},
		[]string{"prosím", "děkuji"},
	},
	{
		"tr",
		[]string{"iptal", "iptal et", "dur", "durdur", "durdurun", "ret", "çıkış", "abonelikten çık", "mesaj göndermeyin", "mesaj atmayın"},
		[]string{"başla", "başlat", "abone ol"},
		[]string{"yardım"},
		[]string{"lütfen", "teşekkürler"},
	},
	{
		"ru",
		[]string{
			"стоп *", "отписаться", "отписаться от *", "отпишите *", "отпиши *", "отписка", "отмена", "остановить", "прекратить", "прекратите *", "не присылайте *",
			"не пишите *",
		},
		[]string{"старт", "подписаться", "возобновить"},
		[]string{"помощь", "справка"},
		[]string{"пожалуйста", "спасибо"},
	},
	{
		"uk",
		[]string{"відписатися", "відписатись", "відпишіть *", "скасувати", "зупинити", "припинити", "припиніть *", "не надсилайте *"},
		[]string{"підписатися", "підписатись", "відновити"},
		[]string{"допомога", "довідка"},
		[]string{"будь ласка", "дякую"},
	},
	{
		"el",
		[]string{"στοπ *", "διακοπή", "σταμάτα", "σταματήστε *", "διαγραφή", "διαγράψτε με *", "απεγγραφή", "ακύρωση"},
		[]string{"έναρξη", "εγγραφή"},
		[]string{"βοήθεια"},
		[]string{"παρακαλώ", "ευχαριστώ"},
	},
	{
		"ro",
		[]string{"oprește", "opriți", "opriți mesajele", "dezabonare", "dezabonează-mă *", "dezabonați-mă *", "anulare", "nu mai trimiteți *"},
		[]string{"abonare", "pornește"},
		[]string{"ajutor"},
		[]string{"vă rog", "te rog", "mulțumesc"},
	},
	{
		"hu",
		[]string{"állj", "állj le", "leállítás", "leiratkozás", "leiratkozom *", "leiratkozni", "törlés", "ne küldjenek *"},
		[]string{"feliratkozás", "feliratkozom", "indítás"},
		[]string{"segítség", "súgó"},
		[]string{"kérem", "köszönöm", "légyszíves"},
	},
	{
		"ar",
		[]string{
			"توقف", "توقف عن الإرسال", "توقفوا عن *", "إيقاف", "أوقف", "أوقفوا *", "قف", "إلغاء", "إلغاء الاشتراك *", "إيقاف الرسائل", "لا ترسل *", "لا ترسلوا *",
		},
		[]string{"ابدأ", "بدء", "اشترك", "اشتراك", "تفعيل", "استئناف"},
		[]string{"مساعدة"},
		[]string{"من فضلك", "لو سمحت", "رجاء", "شكرا"},
	},
	{
		"he",
		[]string{"הסר", "הסר אותי *", "הסירו אותי *", "הסרה", "להסרה", "הפסק", "הפסיקו *", "עצור", "עצרו", "בטל", "ביטול"},
		[]string{"התחל", "הרשמה", "הצטרף", "להצטרף"},
		[]string{"עזרה"},
		[]string{"בבקשה", "תודה"},
	},
	{
		"hi",
		[]string{"रोकें", "रोको", "बंद करें", "बंद करो", "बंद कीजिए", "हटाएं", "हटाओ", "रद्द करें", "सदस्यता समाप्त करें", "स्टॉप", "band karo", "band karen"},
		[]string{"शुरू", "शुरू करें", "चालू करें", "स्टार्ट"},
		[]string{"मदद", "सहायता", "हेल्प"},
		[]string{"कृपया", "धन्यवाद"},
	},
	{
		"id",
		[]string{"berhenti", "berhenti berlangganan *", "berhenti mengirim *", "hentikan *", "batal", "unreg *"},
		[]string{"mulai", "berlangganan"},
		[]string{"bantuan"},
		[]string{"tolong", "mohon", "terima kasih", "makasih"},
	},
	{
		"ja",
		[]string{
			"停止", "停止して", "配信停止", "配信停止して", "配信を停止して", "配信停止希望", "解除", "登録解除", "購読解除", "配信解除", "中止", "退会", "ストップ", "やめて", "やめる",
		},
		[]string{"開始", "再開", "登録", "購読", "スタート"},
		[]string{"ヘルプ"},
		[]string{"お願いします", "お願い", "下さい", "ください"},
	},
	{
		"zh",
		[]string{"停", "停止", "退订", "退訂", "td", "取消", "取消订阅", "取消訂閱", "拒收", "不再接收", "不要再发", "不要再發", "别再发了", "別再發了"},
		[]string{"开始", "订阅", "訂閱", "恢复", "恢復"},
		[]string{"帮助", "幫助"},
		[]string{"请", "請", "谢谢", "謝謝"},
	},
	{
		"ko",
		[]string{"중지", "정지", "중단", "수신거부", "수신 거부", "취소", "구독취소", "구독 취소", "그만", "스톱"},
		[]string{"시작", "재개", "구독", "수신동의", "수신 동의"},
		[]string{"도움말", "도움"},
		[]string{"부탁합니다", "부탁드립니다", "감사합니다", "제발"},
	},
	{
		"th",
		[]string{"หยุด", "หยุดส่ง", "หยุดส่งข้อความ", "ยกเลิก", "ยกเลิกการรับข่าวสาร", "ยกเลิกรับข่าวสาร", "เลิกรับ"},
		[]string{"เริ่ม", "สมัคร", "รับข่าวสาร"},
		[]string{"ช่วยเหลือ", "ความช่วยเหลือ"},
		[]string{"กรุณา", "ครับ", "ค่ะ", "คะ", "ขอบคุณ"},
	},
	{
		"vi",
		[]string{
			"=dừng", "=dừng lại", "dừng nhận tin", "ngừng", "ngừng nhận *", "=hủy", "=huỷ", "hủy đăng ký", "huỷ đăng ký", "huy dang ky", "hủy nhận tin", "từ chối",
			"từ chối nhận *", "không nhận tin",
		},
		[]string{"bắt đầu", "bat dau", "đăng ký", "dang ky"},
		[]string{"trợ giúp", "giúp đỡ", "hướng dẫn"},
		[]string{"vui lòng", "làm ơn", "xin", "cảm ơn"},
	},
}

// ordinaryIn are the languages in which a word of the table is an everyday answer to something else: a size or a height (alto,
// alta), "it seems" (pare), "hard" (dur), "than" (end), "right" (ret), a bank (TD, which answers 回TD退订 in China).
var ordinaryIn = map[string][]string{
	"alto": {"it", "pt"},
	"alta": {"it", "pt"},
	"pare": {"it"},
	"dur":  {"fr", "ro"},
	"end":  {"da"},
	"ret":  {"da"},
	"td":   {"en", "fr"},
}

// noStops begin like a word with a star, and are about a visit.
var noStops = []string{
	"stop by *", "stop over *", "stop off *", "stop at the *", "stop at my *", "stop at our *", "stop at your *", "stop in the *",
}
