package importer

import "strings"

// exact are whole words, stems the beginnings of words, each with what it says. They are
// English, then Russian and Ukrainian, Spanish and German.
var exact, stems = dictionary()

func dictionary() (exact, stems map[string]flags) {
	exact, stems = map[string]flags{}, map[string]flags{}
	for _, entry := range []struct {
		flags flags
		words string // with * a stem
	}{
		{fNeg | fEnglish, "not no don't dont doesn't doesnt never without neither non cannot can't won't"},
		{fNeg, "не нет без ні нельзя sin ningún ningun ninguna nunca nicht kein keine keinen keinem keiner ohne nie"},
		{fExport | fEnglish, "announce announces announcing announcement announcements advertise advertises advertising advertisement advertisements aadvertise advertize export exports exporting redistribute redistributes redistributing redistribution propagate propagates propagating propagation send sends sending distribute distributes distribution distributing leak leaks readvertise re-advertise re-announce pass"},
		{fExport, "announc* advertis* redistribut* анонс* анонсир* анонсув* отдава* отдать переда* распростран* рассыл* відда* пошир* рекламир* propaga* anunci* export* redistribu* difund* enviar envía envia publicar ankündig* announcen annonc* exportier* weitergeb* weiterleit* verteil* senden sende"},
		{fExported | fEnglish, "announced advertised exported redistributed propagated sent leaked distributed"},
		{fExported, "анонсирован* анонсируе* анонсован* передан* отдан* propagado propagada propagados anunciado anunciada anunciados exportado exportados angekündigt exportiert verteilt gesendet weitergegeben"},
		{fPrepend, "prepend* препенд* преспенд* препэнд* pre-pend* voranstell* vorangestellt"},
		{fBlackhole, "blackhol* black-hol* rtbh null null0 nullroute* null-route* discard discards discarded drop drops dropped блэкхол* блекхол* blackholing verwirf verwerfen descartar descarta"},
		{fGshut, "gshut graceful-shutdown graceful_shutdown graceful_bgp_shutdown"},
		{fSet | fEnglish, "set sets setting raise raises lower lowers increase decrease change changes modify apply reduce assign"},
		{fSet, "установ* устанав* повыс* повыш* пониз* пониж* увелич* уменьш* измен* встанов* підвищ* зниз* змін* establec* fijar subir bajar aumentar reducir poner cambiar setze setzen setzt erhöh* senk* ändern"},
		{fLocalPref, "local-pref* local_pref* localpref* lp lpref локалпреф* локал-преф* предпочтени* preferencia präferenz"},
		{fMED, "med meds metric multi_exit_disc multi-exit-disc метрик* métrica metrica metrik"},
		{fOnly | fEnglish, "only exclusively"},
		{fOnly, "только лишь тільки лише solo sólo solamente únicamente unicamente nur ausschließlich"},
		{fBlock, "block blocks blocking prevent prevents preventing suppress suppresses suppressing deny denies stop withhold disable prohibit блокир* запре* запрет* заборон* bloque* impedir suprimir denegar unterdrück* unterbind* verhinder* sperr* blockier*"},
		{fLearn | fEnglish, "learn learned learnt received receive receives originate originated originates originating origin origins origination imported injected tagged marked came coming accepted sourced comes"},
		{fLearn, "получен* принят* приня* изучен* отриман* прийнят* вивчен* аноним aprendid* recibid* originad* origen generad* gelernt* empfangen* erhalten* stammt stammen stammend* originiert"},
		{fTags | fEnglish, "tags marks identifies indicates denotes помечает позначає etiqueta marca identifica kennzeichnet markiert"},
		{fRoute, "route routes prefix prefixes маршрут* префикс* префікс* ruta rutas prefijo prefijos routen präfix* strecke"},
		{fNode, "node nodes pop pops узел узла узле узлы узлов вузол вузла вузлі вузли nodo nodos knoten standort* площадк* майданчик*"},
		{fCustomer, "customer customers client clients downstream downstreams клиент* клієнт* cliente clientes kunde kunden kundenroute* downlink*"},
		{fPeer, "peer peers peering peerings пир* пиринг* пір* пірин* par pares"},
		{fTransit, "transit transits upstream upstreams uplink uplinks provider providers carrier carriers tier-1 tier1 транзит* аплинк* апстрим* провайдер* аплінк* апстрім* tránsito tránsitos transito transitos proveedor* anbieter vorleister"},
		{fAll | fEnglish, "all any every everyone everybody anyone anybody each"},
		{fAll, "все всем всех всіх всім усім усіх любой любому любым будь-як* todos todas todo cualquier alle allen aller jeden jedem"},
		{fExchange, "ix ixp ixps ixs exchange exchanges ams-ix decix de-cix linx msk-ix msix dtel-ix data-ix route-server* ikс обменник* биржа internet-knoten"},
		{fExample, "example examples e.g eg пример* приклад* напр например наприклад ejemplo ejemplos beispiel beispiele beispielsweise z.b sample samples"},
		{fNote, "attention note notes notice warning caution remark внимание примечани* замечани* увага примітк* atención atencion nota notas aviso achtung hinweis* bemerkung*"},
		{fCommunity | fForm | fLabel, "community communities communitys comunities comunity communit* коммьюнити комьюнити коммунити комʼюніті ком'юніті сообществ* спільнот* comunidad comunidades"},
		{fFormat, "format formats syntax structure structured scheme формат* синтаксис структур* formato sintaxis esquema schema schreibweise"},
		{fNoExport, "no-export no_export noexport no-export-subconfed no_export_subconfed"},
		{fNoAdvertise, "no-advertise no_advertise noadvertise"},
		{fFrom | fEnglish, "from via through"},
		{fFrom, "от из с через від з із desde de von aus vom"},
		{fTo | fEnglish, "to towards toward into over at in"},
		{fTo, "в во на к до сторону у hacia hasta al nach zu an in gegenüber richtung"},
		{fFor, "for для para für"},
		{fCan, "can may might could able могут может можно можуть може puede pueden können kann"},
		{fUse, "use used uses using should you использов* использ* використ* usar utilizar utilizad* verwend* benutz* nutzen"},
		{fInfo, "refused declined detected bad invalid bogon bogons rejected filtered valid unknown itself internal node-id matched matches present included validated blackholed prepended-by learnedfrom собственн* власн* внутренн* propio propios intern interne eigene eigenes eigenen"},
		{fAct, "override overrides remove removes strip strips rewrite reject rejects request requests limit limits restrict avoid de-preference depreference deprefer depref backup-only withdraw add adds insert inserts append appends добав* дода* adicion* agreg* añad* hinzufüg* einfügen"},
		{fPath, "as_path as-path aspath as_paths as-paths aspaths путь шлях"},
		{fThis, "this that specific certain particular given single individual selected конкретн* определенн* определённ* данному данного этому певн* цьому específico especifico específicos este determinado bestimmt* diesem diesen einzeln*"},
		{fLabel | fForm, "large standard std extended ext lrg value values values: tag tags-value bgp значение значения valor valores wert werte"},
		{fForm, "rfc rfc1997 rfc4360 rfc8092 16-bit 32-bit 2-byte 4-byte code codes код коды código codigo 1997 4360 8092 bit"},
		{fJoin, "and or и или та або y o e und oder"},
		{fPast, "deprecated obsolete unconfirmed pending planned reserved устарел* obsoleto veraltet"},
		{fHeader, "description descr comment comments name text описание опис descripción descripcion nombre beschreibung bedeutung-"},
		{fHeader | hAction, "action actions function functions effect действие действия дія дії функция acción acciones función efecto aktion aktionen funktion wirkung"},
		{fHeader | hInfo, "meaning origin-type type location region city country pop-name source значення смысл significado ubicación región ciudad país bedeutung herkunft регион город местоположение"},
		{fReason, "reason reasons причин* motivo motivos grund gründe"},
		{hAction, "control controls controlling accept accepts accepted steer steering manag* operational operation influenc* supported customer-set set-by-customer signal* управля* управлен* керу* керуван* gestión gestion manej* steuer*"},
		{hInfo, "inform* info ingress location locations geograph* geo identif* mark* information* metadata информац* інформац* informativ* identificación identificacion identifik* standort tagging reject rejection"},
		{fRegion, `europe eu emea africa asia apac oceania antarctica america americas north-america south-america latam caribbean pacific australia
 usa us uk eastern western northern southern european american asian african scandinavia baltics balkans
 germany france italy spain poland russia ukraine netherlands belgium sweden norway finland denmark austria switzerland czechia hungary romania bulgaria greece turkey israel
 japan taiwan korea china india singapore indonesia malaysia thailand philippines vietnam zealand brazil argentina chile colombia peru mexico canada uruguay bolivia kazakhstan georgia armenia
 moscow petersburg novosibirsk yekaterinburg kazan samara frankfurt berlin munich düsseldorf hamburg london manchester paris marseille madrid barcelona lisbon milan rome vienna zurich geneva prague warsaw
 amsterdam brussels stockholm oslo helsinki copenhagen riga vilnius tallinn kyiv kiev lviv odesa kharkiv minsk istanbul dubai mumbai tokyo osaka seoul taipei sydney melbourne toronto chicago dallas miami
 atlanta seattle ashburn ontario york angeles jose hkg hong johannesburg nairobi lagos cairo paulo buenos aires santiago bogotá bogota lima
 россия москва москве санкт-петербург санкт-петербурге петербург екатеринбург новосибирск казань самара европа европе азия азии америка африка германия киев київ києві львів одеса харків дніпро украина україна європа
 europa américa asia áfrica méxico españa francia alemania rusia deutschland österreich schweiz frankreich italien spanien niederlande russland münchen wien zürich moskau`},
		{fEnglish, "the of is are with by a an be routes prefixes as"},
		{fSpanish, "propagar propague propagado anunciar adicionar agregar añadir clientes hacia sólo solo solamente comunidades prefijos rutas originados aprendidos recibidos hacia todos menor mayor fuera ningún al de la el los las por con del un una y prefijos clientes"},
		{fGerman, "der die das und mit ist im den dem von für"},
	} {
		for w := range strings.FieldsSeq(entry.words) {
			if stem, ok := strings.CutSuffix(w, "*"); ok {
				stems[stem] |= entry.flags
			} else {
				exact[w] |= entry.flags
			}
		}
	}
	return exact, stems
}
