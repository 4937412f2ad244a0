"""Addresses of countries for which the generator has names only, or nothing.

A country is its towns with postal codes, its streets, and the ways in which a street and an
address are written: `{street}`, `{n}` a house's number, `{flat}` a small number, `{code}`, `{town}`.
"""

COUNTRIES = {
    # For the development set.
    "sg": {"towns": [("Singapore", "######")], "streets": ["Ang Mo Kio Avenue 6", "Tampines Street 81", "Bedok North Road", "Holland Drive", "Jalan Besar", "Pasir Ris Drive 3"],
           "street": ["Blk {n} {street} #0{flat}-{n}", "{n} {street}"], "address": ["{line}\n{town} {code}", "{line}, {town} {code}"]},
    "hk": {"towns": [("Kowloon", ""), ("Wan Chai", ""), ("Sha Tin", ""), ("Tuen Mun", "")], "streets": ["Nathan Road", "Hennessy Road", "Castle Peak Road", "Tai Po Road"],
           "street": ["Flat B, {flat}/F, Tower 2, {n} {street}", "{flat}/F, {n} {street}"], "address": ["{line}, {town}", "{line}\n{town}"]},
    "pe": {"towns": [("Lima", "150##"), ("Cusco", "080##"), ("Arequipa", "040##"), ("Trujillo", "130##")], "streets": ["Huallaga", "de la Unión", "Los Olivos", "San Martín", "Grau"],
           "street": ["Jr. {street} {n}", "Av. {street} {n}, Dpto. {flat}0{flat}", "Mz. B Lt. {flat}, Urb. {street}"], "address": ["{line}, {town} {code}", "{line}\n{code} {town}"]},
    "ae": {"towns": [("Dubai", ""), ("Sharjah", ""), ("Al Ain", ""), ("Abu Dhabi", "")], "streets": ["Al Wasl", "Al Barsha 2", "Jumeirah 1", "Khalidiya"],
           "street": ["Villa {n}, Street {flat}, {street}", "{street} Road, Bldg {n}, Flat {flat}"], "address": ["{line}, {town}", "{line}, P.O. Box {n}{flat}, {town}"]},
    "al": {"towns": [("Tiranë", "1001"), ("Shkodër", "4001"), ("Vlorë", "9401"), ("Durrës", "2001")], "streets": ["e Kavajës", "Myslym Shyri", "Sami Frashëri", "e Durrësit"],
           "street": ["Rruga {street} Nr. {n}", "Rr. {street}, P. {n}, Ap. {flat}"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}"]},
    "rs": {"towns": [("Beograd", "11000"), ("Novi Sad", "21000"), ("Niš", "18000"), ("Čačak", "32000")], "streets": ["Knez Mihailova", "Bulevar oslobođenja", "Cara Dušana", "Vojvode Mišića"],
           "street": ["{street} {n}", "{street} {n}/{flat}", "{street} bb"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}"]},
    "ke": {"towns": [("Nakuru", "20100"), ("Eldoret", "30100"), ("Kisumu", "40100"), ("Thika", "01000")], "streets": ["Kenyatta Avenue", "Oginga Odinga Street", "Moi Road", "Uhuru Highway"],
           "street": ["P.O. Box {n}-{code}", "{street}, House {n}", "Plot {n}, {street}"], "address": ["{line}, {town}", "P.O. Box {n}-{code} {town}"]},
    "ng": {"towns": [("Ibadan", "200###"), ("Enugu", "400###"), ("Ikeja", "100###"), ("Jos", "930###")], "streets": ["Adeola Odeku Street", "Herbert Macaulay Way", "Ogui Road", "Awolowo Road"],
           "street": ["No {n}, {street}", "{n} {street}, off Marina", "Plot {n}, {street}"], "address": ["{line}, {town}", "{line}, {town} {code}"]},
    "za": {"towns": [("Polokwane", "0699"), ("Stellenbosch", "7600"), ("Upington", "8801"), ("Soweto", "1804")], "streets": ["Voortrekker Street", "Long Street", "Jan Smuts Avenue", "Church Street"],
           "street": ["{n} {street}", "Unit {flat}, {n} {street}", "Stand {n}, {street}"], "address": ["{line}\n{town}\n{code}", "{line}, {town}, {code}"]},
    "pk": {"towns": [("Lahore", "54###"), ("Multan", "60###"), ("Sialkot", "51###"), ("Quetta", "87###")], "streets": ["Gulberg III", "Model Town", "Satellite Town", "Cantt"],
           "street": ["House {n}, Street {flat}, {street}", "{n}-B, Block {flat}, {street}"], "address": ["{line}, {town}", "{line}, {town} {code}"]},
    "gr": {"towns": [("Patra", "262 2#"), ("Volos", "382 2#"), ("Chania", "731 3#"), ("Larisa", "412 2#")], "streets": ["Ermou", "Venizelou", "Agiou Andreou", "Korai", "28is Oktovriou"],
           "street": ["{street} {n}", "Odos {street} {n}"], "address": ["{line}, {town} {code}", "{line}\n{code} {town}"]},
    "mt": {"towns": [("Sliema", "SLM 1###"), ("Żabbar", "ZBR 1###"), ("Mosta", "MST 3###"), ("Victoria", "VCT 2###")], "streets": ["Triq il-Kbira", "Triq San Ġwann", "Triq it-Torri", "Republic Street"],
           "street": ["{n}, {street}", "Flat {flat}, {n}, {street}"], "address": ["{line}, {town} {code}", "{line}\n{town} {code}"]},
    "is": {"towns": [("Reykjavík", "101"), ("Akureyri", "600"), ("Selfoss", "800"), ("Húsavík", "640"), ("Kópavogur", "200"), ("Ísafjörður", "400"), ("Egilsstaðir", "700"), ("Vík", "870"), ("Akranes", "300"), ("Höfn", "780")],
           "streets": ["Laugavegur", "Skólavörðustígur", "Hafnarstræti", "Aðalgata", "Birkimelur", "Strandgata", "Hamraborg", "Sunnuhlíð", "Brekkugata", "Austurvegur"],
           "street": ["{street} {n}", "{street} {n}", "{street} {n}, íbúð {flat}"], "address": ["{line}\n{code} {town}", "{line}, {code} {town}"]},
    "ie": {"towns": [("Galway", "H91 ??#?"), ("Tralee", "V92 ??##"), ("Letterkenny", "F92 ???#"), ("Ennis", "V95 ?#??"), ("Dingle", "V92 ?#?#"), ("Athlone", "N37 ??##"), ("Bantry", "P75 ??##"), ("Sligo", "F91 ?#??")],
           "streets": ["Sráid na Siopaí", "Bóthar na Trá", "Sea Road", "Main Street", "Spiddal Road", "Church Lane", "An Cheathrú Rua", "Castle Street"],
           "street": ["{n} {street}", "Apt {flat}, {n} {street}", "{street}"], "address": ["{line}, {town}, {code}", "{line}\n{town}\n{code}", "{line}, Co. {town}"]},
    "be": {"towns": [("Namur", "5000"), ("Charleroi", "6000"), ("Tournai", "7500"), ("Huy", "4500"), ("Arlon", "6700"), ("Wavre", "1300"), ("Dinant", "5500"), ("La Louvière", "7100"), ("Marche-en-Famenne", "6900"), ("Spa", "4900")],
           "streets": ["Rue de l'Église", "Chaussée de Louvain", "Rue du Moulin", "Avenue des Tilleuls", "Place Communale", "Rue Haute", "Quai de Meuse", "Drève du Château", "Clos des Pommiers", "Thier de la Fontaine"],
           "street": ["{street} {n}", "{street}, {n}", "{street} {n} bte {flat}"], "address": ["{line}\n{code} {town}", "{line}, {code} {town}", "{line} à {code} {town}"]},
    "lu": {"towns": [("Luxembourg", "L-1###"), ("Esch-sur-Alzette", "L-4###"), ("Diekirch", "L-92##"), ("Wiltz", "L-95##"), ("Echternach", "L-64##"), ("Remich", "L-55##"), ("Mersch", "L-75##"), ("Vianden", "L-94##")],
           "streets": ["Grand-Rue", "Rue de la Gare", "Op der Knupp", "Um Bierg", "Avenue de la Liberté", "Duerfstrooss", "Rue des Romains", "An der Gaass"],
           "street": ["{n}, {street}", "{n} {street}", "{n}A, {street}"], "address": ["{line}\n{code} {town}", "{line}, {code} {town}"]},
    "gh": {"towns": [("Kumasi", "AK-###-####"), ("Obuasi", "AO-###-####"), ("Sunyani", "BS-###-####"), ("Tamale", "NT-###-####"), ("Cape Coast", "CC-###-####"), ("Koforidua", "EN-###-####")],
           "streets": ["Harper Road", "Prempeh II Street", "Liberation Road", "Market Circle", "Hospital Road", "Bantama High Street", "Nhyiaeso Close"],
           "street": ["H/No. {n}, {street}", "{n} {street}", "Plot {flat}, Block C, {street}", "Hse No. {n}, {street}"], "address": ["{line}, {town}", "{line}, {town}, {code}", "P. O. Box KS {n}, {town}"]},
    "th": {"towns": [("Chiang Mai", "50###"), ("Khon Kaen", "40000"), ("Hat Yai", "90110"), ("Bang Rak, Bangkok", "10500"), ("Pattaya City", "20150"), ("Nakhon Ratchasima", "30000")],
           "streets": ["Sukhumvit Soi 21", "Charoen Krung Road", "Nimmanhaemin Soi 9", "Phahonyothin Road", "Mittraphap Road", "Thanon Si Lom"],
           "street": ["{n}/{flat} {street}", "{n}/{n} Moo {flat}, {street}", "{n} {street}"], "address": ["{line}, {town} {code}", "{line}\n{town} {code}", "{line}, {town}"]},
    "ad": {"towns": [("Andorra la Vella", "AD500"), ("Encamp", "AD200"), ("Ordino", "AD300"), ("Sant Julià de Lòria", "AD600"), ("La Massana", "AD400"), ("Canillo", "AD100")],
           "streets": ["Carrer Major", "Avinguda Meritxell", "Plaça del Poble", "Carretera General", "Passatge Antònia Font", "Camí Ral"],
           "street": ["{street}, {n}", "{street}, {n}, {flat}r {flat}a", "{street} núm. {n}"], "address": ["{line}\n{code} {town}", "{line}, {code} {town}", "{line}, {town}"]},
    "li": {"towns": [("Vaduz", "9490"), ("Schaan", "9494"), ("Balzers", "9496"), ("Triesen", "9495"), ("Ruggell", "9491"), ("Mauren", "9493")],
           "streets": ["Im Bretscha", "Landstrasse", "Auf Berg", "Zollstrasse", "Feldkircher Strasse", "In der Specki", "Unterm Schloss", "Egerta"],
           "street": ["{street} {n}", "{street} {n}", "{street} {n}a"], "address": ["{line}\n{code} {town}", "{line}, {code} {town}", "{line}\nFL-{code} {town}"]},
    "tz": {"towns": [("Arusha", "231##"), ("Dodoma", "411##"), ("Mwanza", "331##"), ("Dar es Salaam", "111##"), ("Moshi", "251##"), ("Tanga", "211##")],
           "streets": ["Sokoine Road", "Uhuru Street", "Mtaa wa Lumumba", "Barabara ya Boma", "Ali Hassan Mwinyi Road", "Makongoro Street"],
           "street": ["{street}, Plot No. {n}", "{n} {street}", "House No. {n}, {street}", "Block {flat}, {street}"], "address": ["S.L.P. {n}, {town}", "{line}, {town}", "{line}, {code} {town}"]},
    "ge": {"towns": [("Tbilisi", "01##"), ("Batumi", "60##"), ("Kutaisi", "46##"), ("Zugdidi", "2100"), ("Gori", "1400"), ("Telavi", "2200")],
           "streets": ["Rustaveli Ave", "Chavchavadze Ave", "Kostava St", "Agmashenebeli Ave", "Tabidze St", "Vazha-Pshavela Ave"],
           "street": ["{n} {street}", "{street} {n}, apt {flat}", "{street} N{n}"], "address": ["{line}, {town} {code}", "{line}\n{code} {town}", "{line}, {town}"]},
    "am": {"towns": [("Yerevan", "00##"), ("Gyumri", "31##"), ("Vanadzor", "20##"), ("Kapan", "33##"), ("Goris", "32##")],
           "streets": ["Mashtots", "Abovyan", "Komitas", "Tigran Mets", "Sayat-Nova", "Baghramyan"],
           "street": ["{n} {street} Ave, apt. {flat}", "{street} St. {n}/{flat}", "{street} {n}"], "address": ["{line}, {town} {code}", "{line}\n{town} {code}", "{line}, {code} {town}"]},
    "jp": {"towns": [("Sapporo", "060-00##"), ("Nagoya", "460-00##"), ("Kamakura", "248-00##"), ("Kyoto", "604-80##"), ("Setagaya-ku, Tokyo", "154-00##"), ("Naha", "900-00##")],
           "streets": ["Higashiyama", "Sakuragaoka", "Nishi-machi", "Kita 3-jo", "Minami-Aoyama", "Hongo"],
           "street": ["{flat}-{n}-{flat} {street}", "{street} {flat}-{n}", "{flat} Chome-{n} {street}"], "address": ["{line}, {town} {code}", "{line}\n{town} {code}", "{line}, {town}"]},
    "bg": {"towns": [("Sofia", "10##"), ("Plovdiv", "40##"), ("Varna", "90##"), ("Veliko Tarnovo", "5000"), ("Burgas", "80##"), ("Ruse", "70##")],
           "streets": ["Vitosha", "Hristo Botev", "Tsar Osvoboditel", "Shipka", "Ivan Vazov", "Graf Ignatiev"],
           "street": ["ul. {street} {n}", "bul. {street} No {n}", "zh.k. Mladost {flat}, bl. {n}, vh. A, ap. {flat}"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{town}, {line}"]},
    "by": {"towns": [("Minsk", "2200##"), ("Grodno", "2300##"), ("Vitebsk", "2100##"), ("Brest", "2240##"), ("Novopolotsk", "2114##")],
           "streets": ["Nezavisimosti", "Sovetskaya", "Kupaly", "Lenina", "Pushkinskaya"],
           "street": ["{street} str. {n}, apt. {flat}", "pr-t {street} {n}-{flat}", "vul. {street}, d. {n}, kv. {flat}"], "address": ["{line}, {code} {town}", "{line}\n{code}, {town}", "{town}, {line}"]},
    "kz": {"towns": [("Almaty", "0500##"), ("Astana", "0100##"), ("Shymkent", "1600##"), ("Taraz", "0800##"), ("Ust-Kamenogorsk", "0700##")],
           "streets": ["Abay", "Dostyk", "Tole Bi", "Satpaev", "Kabanbay Batyr"],
           "street": ["{street} Ave {n}", "{street} kosh. {n}, {flat}", "{flat} mkr, {n}-{flat}"], "address": ["{line}, {town}, {code}", "{line}\n{town} {code}", "{line}, {town}"]},
    "cy": {"towns": [("Nicosia", "1###"), ("Larnaca", "60##"), ("Paphos", "80##"), ("Limassol", "30##"), ("Agia Napa", "5330")],
           "streets": ["Ledra Street", "Makariou III", "Anexartisias", "Griva Digeni Avenue", "Apostolou Pavlou"],
           "street": ["{n}, {street}", "{street} {n}, Flat {flat}0{flat}", "{street} {n}"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{line}, {town}"]},
    "lb": {"towns": [("Beirut", ""), ("Tripoli", ""), ("Sidon", ""), ("Zahle", ""), ("Jounieh", "")],
           "streets": ["Hamra Street", "Bliss Street", "Gouraud Street", "Rue Verdun", "Corniche Mazraa"],
           "street": ["{street}, Fakhoury Bldg, {flat}th floor", "Bldg {n}, {street}", "{street}, Bloc B, Apt {flat}"], "address": ["{line}, {town}", "{line}\n{town}", "{line}, P.O.Box 11-{n}{flat}, {town}"]},
    "my": {"towns": [("Petaling Jaya", "46###"), ("Ipoh", "30###"), ("Kota Kinabalu", "88###"), ("Batu Pahat", "83000"), ("Johor Bahru", "80###")],
           "streets": ["Jalan Ampang", "Lorong Maarof", "Persiaran Gurney", "Jalan SS 2/24", "Lebuh Chulia", "Taman Sri Hartamas"],
           "street": ["No. {n}, {street}", "Lot {n}, {street}", "{n}-{flat}, {street}", "A-{flat}-{n}, Menara Seri, {street}"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{line}, {town}"]},
    "lk": {"towns": [("Colombo 07", "00700"), ("Kandy", "20000"), ("Galle", "80000"), ("Negombo", "11500"), ("Nuwara Eliya", "22200")],
           "streets": ["Galle Road", "Flower Road", "Peradeniya Road", "Sri Dalada Veediya", "Hospital Lane", "Temple Trees"],
           "street": ["No. {n}/{flat}, {street}", "{n}/{flat}A {street}", "{n}, {flat}th Lane, {street}"], "address": ["{line}, {town}", "{line}\n{town} {code}", "{line}, {town} {code}"]},
    "ma": {"towns": [("Casablanca", "20###"), ("Fès", "30###"), ("Salé", "11###"), ("Safi", "46000"), ("Ouarzazate", "45000")],
           "streets": ["Rue Ibn Batouta", "Bd Zerktouni", "Derb Sidi Bouloukat", "Hay Riad", "Lotissement Al Qods", "Avenue Mohammed V"],
           "street": ["{n}, {street}", "Imm. {n}, Appt {flat}, {street}", "{street} n° {n}", "Résidence Yasmina, {street}, Et. {flat}"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{line}, {town}"]},
    "uy": {"towns": [("Montevideo", "11###"), ("Salto", "50000"), ("Melo", "37000"), ("Paysandú", "60000"), ("Rocha", "27000"), ("Minas", "30000")],
           "streets": ["Bvar. Artigas", "18 de Julio", "Av. Italia", "Rbla. Gandhi", "Ejido", "Camino Maldonado", "Dr. Luis A. de Herrera"],
           "street": ["{street} {n}", "{street} {n} ap. {flat}0{flat}", "{street} {n} bis", "{street} esq. Yaguarón", "Ruta 8 km {n}"], "address": ["{line}, {town}", "{line}\n{code} {town}", "{line}, {code} {town}"]},
    "eg": {"towns": [("Cairo", ""), ("Giza", "125##"), ("Luxor", ""), ("Aswan", ""), ("Zagazig", "44###")],
           "streets": ["Talaat Harb St", "El Tahrir Sq", "26th of July Corridor", "Gameat El Dowal St", "Sharia El Nil"],
           "street": ["{n} {street}, {flat}th floor, flat {n}", "{n}B {street}", "Villa {n}, {street}", "Bldg. {n}, District {flat}"], "address": ["{line}, {town}", "{line}\n{town} {code}", "{line}, {town} Governorate"]},
    "ba": {"towns": [("Sarajevo", "71000"), ("Mostar", "88000"), ("Tuzla", "75000"), ("Bijeljina", "76300"), ("Zenica", "72000")],
           "streets": ["Zmaja od Bosne", "Ferhadija", "Maršala Tita", "Kralja Tvrtka", "Ulica Lipa", "Hamdije Kreševljakovića"],
           "street": ["{street} {n}", "{street} br. {n}", "{street} {n}/{flat}", "{street} bb"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{line}, {town}"]},
    "ee": {"towns": [("Tallinn", "10###"), ("Tartu", "51###"), ("Pärnu", "80###"), ("Narva", "20###"), ("Võru", "65###")],
           "streets": ["Pikk", "Narva mnt", "Raekoja plats", "Tehnika tn", "Lai", "Mere pst", "Kalda tee"],
           "street": ["{street} {n}-{flat}", "{street} {n}", "{street} {n}, krt {flat}", "Metsa talu, Käru küla"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{line}, {town}"]},
    # For the hold-out.
    "tn": {"towns": [("Tunis", "10##"), ("Sfax", "30##"), ("Sousse", "40##"), ("Bizerte", "7000"), ("Le Kef", "7100")],
           "streets": ["Rue de Marseille", "Avenue Habib Bourguiba", "Cité El Khadra", "Impasse des Jasmins", "Rue 8301"],
           "street": ["{n}, {street}", "{n} bis, {street}", "Imm. Zitouna, {street}, {flat}e étage", "{street}, Bloc {flat}"], "address": ["{line}, {code} {town}", "{line}\n{code} {town}", "{line}, {town}"]},
    "kh": {"towns": [("Phnom Penh", "120###"), ("Siem Reap", "171###"), ("Battambang", "020###"), ("Kampot", "070###")],
           "streets": ["Street 271", "Preah Sihanouk Blvd", "Sothearos Blvd", "St. 63", "Sangkat Boeung Keng Kang"],
           "street": ["#{n}, {street}", "No. {n}{flat}, {street}", "House {n}, {street}", "#{n}E{flat}, {street}"], "address": ["{line}, {town} {code}", "{line}\n{town} {code}", "{line}, {town}"]},
    "bo": {"towns": [("La Paz", ""), ("Cochabamba", ""), ("Sucre", ""), ("Oruro", ""), ("Tarija", "")],
           "streets": ["Calle Sagárnaga", "Av. Arce", "Av. 6 de Agosto", "Pasaje Jáuregui", "Zona Sopocachi"],
           "street": ["{street} N° {n}", "{street} {n}, Edif. Illimani, Piso {flat}", "{street} #{n}", "{street} esq. Loayza, {n}"], "address": ["{line}, {town}", "{line}\n{town}", "{line}, {town} Casilla {n}"]},
    "gy": {"towns": [("Georgetown", ""), ("Linden", ""), ("New Amsterdam", ""), ("Anna Regina", ""), ("Rose Hall", "")],
           "streets": ["Brickdam", "Camp Street", "Sheriff Street", "Lamaha Gardens", "Regent Street", "Robb Street"],
           "street": ["Lot {n} {street}", "{n} {street}", "{n}{flat} {street}, Section K", "{street}, Lot {n}"], "address": ["{line}, {town}", "{line}\n{town}", "{line}, {town}, Region {flat}"]},
    "mn": {"towns": [("Ulaanbaatar", "14###"), ("Darkhan", "45###"), ("Erdenet", "61###"), ("Khovd", "84###")],
           "streets": ["Peace Avenue", "Seoul Street", "Chinggis Avenue", "Ikh Toiruu", "Olympic Street"],
           "street": ["{street} {n}, khoroo {flat}", "Bldg {n}, {street}", "{street} {n}-{flat}", "{flat}-r khoroo, {n} toot"], "address": ["{line}, {town} {code}", "{line}\n{town} {code}", "{line}, {town}"]},
    "fj": {"towns": [("Suva", ""), ("Nadi", ""), ("Lautoka", ""), ("Labasa", ""), ("Levuka", "")],
           "streets": ["Victoria Parade", "Waimanu Road", "Queens Road", "Toorak Road", "Vitogo Parade"],
           "street": ["{n} {street}", "Lot {flat}, {street}", "Flat {flat}, {n} {street}", "{n}/{flat} {street}"], "address": ["{line}, {town}", "{line}\n{town}", "{line}, GPO Box {n}, {town}"]},
    "lv": {"towns": [("Riga", "LV-10##"), ("Liepāja", "LV-34##"), ("Jelgava", "LV-30##"), ("Ogre", "LV-5001"), ("Cēsis", "LV-4101")],
           "streets": ["Brīvības iela", "Lielā iela", "Kr. Barona iela", "Raiņa bulvāris", "Dzirnavu iela", "Ozolu gatve"],
           "street": ["{street} {n}-{flat}", "{street} {n} k-{flat}", "{street} {n}, dz. {flat}", "\"Kalniņi\", Mores pagasts"], "address": ["{line}, {town}, {code}", "{line}\n{town}, {code}", "{line}, {town}"]},
    "mz": {"towns": [("Maputo", "11##"), ("Beira", "21##"), ("Nampula", "31##"), ("Tete", "23##"), ("Matola", "1114")],
           "streets": ["Av. Julius Nyerere", "Rua da Resistência", "Av. 24 de Julho", "Bairro da Polana", "Rua 1301"],
           "street": ["{street}, {n}", "{street} n.º {n}, {flat}.º andar", "{street}, Q. {flat}, Casa {n}", "{street} {n} R/C"], "address": ["{line}, {town}", "{line}\n{code} {town}", "{line}, {code} {town}"]},
}


class Addresses:
    """The addresses of one of these countries, in the generator's manner."""

    def __init__(self, country, rng, fake):
        self.data, self.rng, self.fake = COUNTRIES[country], rng, fake

    def filled(self, form, line=""):
        town, code = self.rng.choice(self.data["towns"])
        text = form.format(
            line=line, street=self.rng.choice(self.data["streets"]), n=self.rng.randint(1, 240),
            flat=self.rng.randint(1, 9), town=town, code=self.fake.bothify(code, letters="ACDEFHKNPRTVWXY"),
        )
        return text.rstrip(" ,")

    def street_address(self):
        return self.filled(self.rng.choice(self.data["street"]))

    def address(self):
        return self.filled(self.rng.choice(self.data["address"]), self.street_address())

    def city(self):
        return self.rng.choice(self.data["towns"])[0]

    def postcode(self):
        return self.filled("{code}") or self.filled("{n}{n}")
