"""Values of one person in one locale, and the ways in which people write them."""

import base64
import random
import re
import unicodedata
import urllib.parse
import zlib

from faker import Faker

import addresses

# Where names and places come from: a locale, or "names/places" where the places are another locale's or
# a country's of `addresses`. The pairs of a hold-out are never in the development set. Behind `@`: how the names are written in Latin letters
# (`other`: not as any other set writes them), or which half of the locale's names a set may have.
DEV_LOCALES = [
    "en_US", "en_GB", "de_DE", "fr_FR", "es_ES", "pt_BR", "da_DK", "cs_CZ", "es_CO", "az_AZ", "hu_HU", "fi_FI",
    "hr_HR", "pt_PT", "id_ID", "no_NO", "fr_CH", "en_AU", "sk_SK", "de_AT", "en_IE", "et_EE", "lv_LV", "zu_ZA",
    "de_CH", "vi_VN", "en_CA", "en_NZ", "es_AR", "es_CL", "fr_CA", "nl_BE", "sl_SI", "lt_LT", "ru_RU", "ko_KR",
    "pl_PL", "tr_TR", "nl_NL", "es_MX", "fr_DZ", "en_NG/en_PH", "el_GR", "ja_JP",
    "it_IT", "sv_SE", "ro_RO", "en_IN", "en_KE/en_BD", "uz_UZ/en_MS", "uk_UA", "fa_IR",
    "en_IN/sg", "en_US/hk", "es_CL/pe", "fa_IR/ae", "sv_SE/al", "hr_HR/rs", "en_KE/ke", "en_NG/ng", "zu_ZA/za", "en_PK/pk",
    "el_GR/gr", "it_IT/mt", "is_IS/is", "ga_IE/ie", "fr_BE/be", "yo_NG/lu", "tw_GH/gh", "he_IL", "hy_AM", "zh_CN",
    "en_TH/th", "ig_NG/ad", "ha_NG/li", "sw/tz", "mk_MK", "ka_GE", "hi_IN", "ta_IN",
    "ka_GE@latin/ge", "hy_AM@latin/am", "mk_MK@latin/jp", "bg_BG@latin/bg", "th_TH", "bn_BD", "ne_NP", "zh_TW",
    "uk_UA@latin/by", "ru_RU@latin/kz", "el_GR@latin/cy", "he_IL@latin/lb", "ar_SA", "gu_IN", "or_IN", "si_LK",
    "ko_KR@latin/my", "ne_NP@latin/lk", "gu_IN@latin/ma", "ta_IN@latin/uy", "bn_BD@latin/eg", "mr_IN", "hi_IN@latin/ba", "or_IN@latin/ee",
]
NINTH_LOCALES = ["ja_JP@half0/jm", "zh_CN@half0/cr", "mr_IN@half0/zw", "es_CA+de_LU@half0/md", "si_LK@half0/om", "ar_DZ@half0/sn", "es_CA+de_LI@half0/pg", "zh_TW@half0/me"]
TENTH_LOCALES = ["ja_JP@half1/tt", "zh_CN@half1/gt", "mr_IN@half1/ug", "es_CA+de_LU@half1/xk", "si_LK@half1/qa", "ar_DZ@half1/cm", "es_CA+de_LI@half1/bt", "zh_TW@half1/kg"]
ELEVENTH_LOCALES = ["ar_SA@latin/py", "fa_IR@latin/rw", "th_TH@latin/na", "ar_DZ@latin/bn", "ar_PS@latin/do", "th_TH@latin/mw", "fa_IR@latin/fo", "ar_SA@latin/bz"]
HOLD_OUT_LOCALES = ["ar_SA@other/sv", "fa_IR@other/mu", "th_TH@other/la", "ko_KR@other/gl", "ar_PS@other/tj", "th_TH@other/lr", "ar_DZ@other/jo", "ko_KR@other/hn"]
THIRTEENTH_LOCALES = ["hi_IN@other/kw", "bn_BD@other/et", "ta_IN@other/mg", "gu_IN@other/tg", "he_IL@other/bh", "ne_NP@other/vu"]
EIGHTH_LOCALES = ["or_IN@latin/tn", "bn_BD@latin/kh", "ta_IN@latin/bo", "ne_NP@latin/gy", "ko_KR@latin/mn", "hi_IN@latin/fj", "he_IL@latin/lv", "gu_IN@latin/mz"]

DIGITS = "zero one two three four five six seven eight nine".split()


def known_names(locales):
    """Every word of every name that the generators of these locales can give."""
    known = set()

    def add(value):
        if isinstance(value, str):
            known.update(value.lower().split())
        elif isinstance(value, (dict, list, tuple, set)):
            for part in value:
                add(part)

    for locale in locales:
        for provider in Faker(re.split("[/@+]", locale)[0]).factories[0].providers:
            for attribute in dir(provider):
                if attribute.startswith(("first_name", "last_name")):
                    add(getattr(provider, attribute))
    return known


# How names of other scripts are written in Latin letters; what is not here stays out.
LATIN = dict(zip("აბგდევზთიკლმნოპჟრსტუფქღყშჩცძწჭხჯჰ",
    "a b g d e v z t i k l m n o p zh r s t u p k gh q sh ch ts dz ts ch kh j h".split()))
LATIN |= dict(zip("աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆև",
    "a b g d e z e y t zh i l kh ts k h dz gh ch m y n sh o ch p j r s v t r ts v p k o f ev".split()))
LATIN |= dict(zip("абвгдежзийклмнопрстуфхцчшщъью",
    "a b v g d e zh z i y k l m n o p r s t u f h ts ch sh sht a y yu".split()))
LATIN |= dict(zip("яіїєґёыэјљњџѓќѕ", "ya i yi ye g yo y e j lj nj dz gj kj dz".split()))
LATIN |= dict(zip("αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐ",
    "a v g d e z i th i k l m n x o p r s s t y f ch ps o a e i i o y o i y i".split()))
LATIN |= dict(zip("אבגדהוזחטיכךלמםנןסעפףצץקרשת", "a b g d h o z ch t i k k l m m n n s a p f ts ts k r sh t".split()))


# The blocks of India's scripts have one order, so one table from a letter's place in its block will do for all.
INDIC = dict(zip(range(0x05, 0x15), "a aa i i u u ri l e e e ai o o o au".split()))
INDIC |= dict(zip(range(0x15, 0x3a), "k kh g gh n ch chh j jh n t th d dh n t th d dh n n p ph b bh m y r r l l l v sh sh s h".split()))
VOWELS = dict(zip(range(0x3e, 0x4d), "a i i u u ri ri e e e ai o o o au".split()))
INITIALS = "g kk n d tt r m b pp s ss  j jj ch k t p h".split(" ")
MIDDLES = "a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i".split()
FINALS = [""] + "k k k n n n t l k m l l l p l m p p t t ng t t k t p t".split()


def indic(name):
    text = ""
    for number, letter in enumerate(name):
        place, following = ord(letter) & 0x7F, ord(name[number + 1]) & 0x7F if number + 1 < len(name) else 0
        if place in VOWELS:
            text += VOWELS[place]
        elif place == 0x02:
            text += "n"
        elif place in INDIC:
            text += INDIC[place]
            # A consonant without a sign has an `a`, except as the last.
            text += "a" if place >= 0x15 and following not in VOWELS and following not in (0, 0x4D) else ""
    return text


def korean(name):
    text = ""
    for letter in name:
        number = ord(letter) - 0xAC00
        text += INITIALS[number // 588] + MIDDLES[number // 28 % 21] + FINALS[number % 28]
    return text


def sinhala(name):
    """The signs of Sinhala stand in another order than those of India's scripts."""
    vowels = dict(zip(range(0x85, 0x97), "a aa ae ae i ii u uu ru ru lu lu e ee ai o oo au".split()))
    letters = dict(zip(range(0x9a, 0xc7), "k kh g gh ng ng ch chh j jh n gn nj t th d dh n nd t th d dh n  nd p ph b bh m mb y r  l   v sh sh s h l f".split(" ")))
    signs = dict(zip(range(0xcf, 0xe0), "a e e i i u  u  ru e e ai o o au lu".split(" ")))
    text = ""
    for number, letter in enumerate(name):
        place, following = ord(letter) & 0xFF, ord(name[number + 1]) & 0xFF if number + 1 < len(name) else 0
        text += vowels.get(place) or signs.get(place) or letters.get(place) or ""
        if letters.get(place) and following != 0xCA and following not in signs:
            text += "a"
    return text


def abjad(name):
    """Arabic letters, with a vowel between consonants where nothing is written."""
    letters = dict(zip("ابتثجحخدذرزسشصضطظعغفقكلمنهويپچژگکیةىآأإؤئء", "a b t th j h kh d dh r z s sh s d t z a gh f q k l m n h o i p ch zh g k i a a a a i o i ".split(" ")))
    text = ""
    for letter in name:
        sound = letters.get(letter, " " if letter in " \u200c" else "")
        if text and sound and text[-1] not in "aoi " and sound[0] not in "aoi ":
            text += "a"
        text += sound
    return text


def thai(name):
    consonants = dict(zip(range(0xE01, 0xE2F), "k kh kh kh kh kh ng ch ch ch s ch y d t th th th n d t th th th n b p ph f ph f ph m y r rue l lue w s s s h l o h".split()))
    vowels = dict(zip(range(0xE30, 0xE3A), "a a a am i i ue ue u u".split())) | dict(zip(range(0xE40, 0xE45), "e ae o ai ai".split()))
    text, held = "", ""
    for letter in name:
        place = ord(letter)
        if place in vowels and place >= 0xE40:
            held = vowels[place]
        elif place in vowels:
            text += vowels[place]
        elif place in consonants:
            if text and not held and text[-1] not in "aeiou":
                text += "a"
            text += consonants[place] + held
            held = ""
    return text


def latin(name):
    if "\u0600" <= name[0] < "\u0700":
        return " ".join(abjad(word) for word in name.split()).title()
    if "\u0e00" <= name[0] < "\u0e80":
        return thai(name).title()
    if "\u0d80" <= name[0] < "\u0e00":
        return " ".join(sinhala(word) for word in name.split()).title()
    if "\u0900" <= name[0] < "\u0d80":
        return " ".join(indic(word) for word in name.split()).title()
    if name == "\uc774":
        # The surname of one vowel is never written as that letter.
        return "Yi"
    if name[0] >= "\uac00":
        return korean(name).title()
    return "".join(LATIN.get(letter, letter if letter in " -" else "") for letter in name.lower()).title()


def otherwise(name):
    """A second way of writing a name in Latin letters."""
    if name == "\uc774":
        return "Rhee"
    if name[0] >= "\uac00":
        hard = {"g": "k", "b": "p", "d": "t", "j": "ch", "r": "l"}
        text = "-".join(korean(letter).title() for letter in name)
        return (hard.get(text[0].lower(), text[0].lower()) + text[1:]).title().replace("eo", "uh").replace("u", "oo", 1)
    text = latin(name).lower()
    return text.translate(str.maketrans("aiod", "euat")).title()


class Names:
    """Names of one locale, without those that are known elsewhere; of `xx_XX@latin` in Latin letters."""

    def __init__(self, locale, seed, known):
        locale, _, script = locale.partition("@")
        first, _, last = locale.partition("+")
        fakes = [Faker(first)] * 2 if not last else [Faker(first), Faker(last)]
        for fake in fakes:
            fake.seed_instance(seed)
        # Two hold-outs may share a locale, but no name.
        self.half = int(script[-1]) if script.startswith("half") else None
        self.known = known
        self.draws = fakes[0].first_name, fakes[1].last_name
        if self.half is not None and hasattr(fakes[0], "first_romanized_name"):
            # In Latin letters nobody has seen them, even where another set has them in their own.
            self.known = set()
            self.draws = lambda: fakes[0].first_romanized_name().title(), lambda: fakes[0].last_romanized_name().title()
        elif script == "other":
            # Another way of writing them, so that no name is as another set has it.
            self.draws = lambda: otherwise(fakes[0].first_name()), lambda: otherwise(fakes[1].last_name())
        elif script == "latin" or self.half is not None and locale in ("mr_IN", "si_LK"):
            self.draws = lambda: latin(fakes[0].first_name()), lambda: latin(fakes[1].last_name())

    def drawn(self, draw):
        for _ in range(1000):
            name = draw()
            if self.half is not None and zlib.crc32(name.lower().encode()) % 2 != self.half:
                continue
            if not any(word in self.known for word in name.lower().split()):
                return name
        raise RuntimeError("the locale has no names of its own")

    def first(self):
        return self.drawn(self.draws[0])

    def last(self):
        return self.drawn(self.draws[1])


class Values:
    """What a locale gives, and what it lacks from the generator's default locale."""

    def __init__(self, fake: Faker, default: Faker):
        self.fake, self.default = fake, default

    def __getattr__(self, kind):
        return getattr(self.fake if hasattr(self.fake, kind) else self.default, kind)


def places(locale, rng, default):
    """What gives the values of a locale, or of a country with the generator's default for the rest."""
    if locale in addresses.COUNTRIES:
        return Values(addresses.Addresses(locale, rng, default), default)
    return Values(Faker(locale), default)


class Person:
    """One patient with relatives and numbers. `kind -> (class, text)` by attribute of `value`."""

    def __init__(self, names: Names, fake: Values, rng: random.Random):
        self.fake, self.rng = fake, rng
        self.first, self.last = names.first(), names.last()
        self.full = f"{self.first} {self.last}"
        self.relative = f"{names.first()} {names.last()}"
        self.relative_first = names.first()
        self.doctor_last = names.last()
        self.doctor = f"{names.first()} {self.doctor_last}"
        self.nurse = f"{names.first()} {names.last()}"
        self.known = rng.random() < 0.3

    def name_form(self, name):
        self.misspelt = False
        first, _, last = name.partition(" ")
        roll = self.rng.random()
        if roll < 0.60:
            return name
        if roll < 0.68:
            return name.upper()
        if roll < 0.76:
            return f"{last}, {first}"
        if roll < 0.84:
            return f"{first[0]}. {last}"
        if roll < 0.88:
            return unicodedata.normalize("NFD", name)
        if roll < 0.91:
            return name.lower()
        if roll < 0.94 and len(last) > 4:
            self.misspelt = True
            return f"{first} {last[:2]}{last[3]}{last[2]}{last[4:]}"
        if roll < 0.97:
            return f"{first} {self.rng.choice('ABCDEFGHJKLMNPRST')}. {last}"
        return name.replace(name[2], name[2] + "\u200b", 1)

    def digits(self, text):
        roll = self.rng.random()
        if roll < 0.04:
            return "".join(chr(ord(c) + 0xFEE0) if c.isdigit() else c for c in text)
        if roll < 0.06:
            return "".join(chr(ord(c) - 48 + 0x660) if c.isdigit() else c for c in text)
        return text

    def date(self, years):
        day = self.fake.date_between(start_date=f"-{years}y", end_date="-1d")
        forms = [
            "%m/%d/%Y", "%d/%m/%Y", "%Y-%m-%d", "%d.%m.%Y", "%B %-d, %Y", "%-d %B %Y", "%b %-d, %Y",
            "%d-%b-%Y", "%-m/%-d/%y", "%d %b %y", "%Y/%m/%d", "%B %Y",
        ]
        return day.strftime(self.rng.choice(forms))

    def number(self, pattern):
        return self.fake.bothify(pattern, letters="ABCDEFGHJKLMNPQRSTUVWXYZ")

    def value(self, kind):
        f, r = self.fake, self.rng
        if kind == "name":
            return "name", self.name_form(self.full)
        if kind == "first":
            return "name", self.first
        if kind == "last":
            return "name", self.last
        if kind == "relative":
            return "name", self.name_form(self.relative)
        if kind == "relative_first":
            return "name", self.relative_first
        if kind == "doctor":
            return "name", self.name_form(self.doctor)
        if kind == "doctor_last":
            return "name", self.doctor_last
        if kind == "nurse":
            return "name", self.nurse
        if kind == "dob":
            return "date", self.digits(self.date(95))
        if kind == "date":
            return "date", self.date(3)
        if kind == "old_age":
            return "age", str(r.randint(90, 104))
        if kind == "phone":
            return "phone", self.digits(f.phone_number())
        if kind == "spoken_phone":
            return "phone", " ".join(r.choice(DIGITS) for _ in range(10))
        if kind == "fax":
            return "fax", f.phone_number()
        if kind == "email":
            return "email", f.email()
        if kind == "ssn":
            return "ssn", self.digits(f.ssn())
        if kind == "mrn":
            return "mrn", self.digits(self.number(r.choice(["########", "MRN-######", "#######", "??######", "##-##-##"])))
        if kind == "plan":
            return "plan", self.number(r.choice(["???#########", "#??#??#??##", "W#########", "####-#####-##"]))
        if kind == "account":
            return "account", r.choice([f.iban(), f.credit_card_number(), self.number("########"), self.number("####-######")])
        if kind == "licence":
            return "licence", self.number(r.choice(["?#######", "??-######", "##########", "???######"]))
        if kind == "plate":
            return "vehicle", f.license_plate() if hasattr(f, "license_plate") else self.number("???-####")
        if kind == "vin":
            return "vehicle", f.vin() if hasattr(f, "vin") else self.number("#??##??#?##??####")
        if kind == "device":
            return "device", self.number(r.choice(["SN-########", "??###-####-?", "###############", "?##?######"]))
        if kind == "url":
            return "url", f.uri()
        if kind == "ip":
            return "ip", r.choice([f.ipv4(), f.ipv6()])
        if kind == "address":
            return "place", f.address()
        if kind == "street":
            return "place", f.street_address()
        if kind == "city":
            return "place", f.city()
        if kind == "zip":
            return "place", f.postcode()
        if kind == "room":
            return "place", r.choice([str(r.randint(100, 899)), f"{r.randint(2, 9)}{r.choice('ABCD')}", f"{r.randint(100, 499)}-{r.randint(1, 2)}"])
        if kind == "case":
            return "id", self.number(r.choice(["ENC-#######", "####-######", "??##########"]))
        if kind == "hidden":
            inner = f"{self.full}, {f.phone_number()}"
            if r.random() < 0.5:
                return "name", base64.b64encode(inner.encode()).decode()
            return "name", urllib.parse.quote(self.full)
        raise KeyError(kind)

    def roster(self):
        return [self.full, self.relative] if self.known else []

    def is_roster(self, kind):
        # A misspelt name is not the one that the roster knows.
        exact = kind in ("first", "last") or (kind in ("name", "relative") and not self.misspelt)
        return self.known and exact
