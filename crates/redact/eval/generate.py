"""Writes notes with the places of their identifiers, one JSON object a line.

    python3 generate.py SET SEED COUNT > notes.jsonl

`dev`, `ninth`, `tenth`, `eleventh` and `thirteenth` may be looked at while the engine is changed. `eighth`
and `hold-out` are measured and never looked into; `hold-out` is the one that the benchmark reports.
"""

import json
import random
import re
import sys

import faker
from faker import Faker

import templates_dev
import templates_eighth
import templates_eleventh
import templates_hold_out
import templates_ninth
import templates_tenth
import templates_thirteenth
import values

# A value, and how it is written: `{name}`, `{name|lower}`, `{name|upper}`, `{name|break}` over two lines.
PLACE = re.compile(r"\{(\w+)(?:\|(\w+))?\}")
WRITTEN = {None: str, "lower": str.lower, "upper": str.upper, "break": lambda value: value.replace(" ", "\n", 1)}


def filled(template, person, spans):
    """A template's text; adds the byte ranges of its identifiers to `spans`."""
    text, done = b"", 0
    for place in PLACE.finditer(template):
        text += template[done:place.start()].encode()
        kind = place.group(1)
        label, value = person.value(kind)
        value = WRITTEN[place.group(2)](value)
        start = len(text)
        text += value.encode()
        spans.append({"start": start, "end": len(text), "class": label, "roster": person.is_roster(kind)})
        done = place.end()
    return (text + template[done:].encode()).decode()


def filled_json(template, person, found):
    if isinstance(template, dict):
        return {key: filled_json(value, person, found) for key, value in template.items()}
    if isinstance(template, list):
        return [filled_json(value, person, found) for value in template]
    if not isinstance(template, str):
        return template
    spans = []
    text = filled(template, person, spans)
    for span in spans:
        found.append({**span, "value": text.encode()[span["start"]:span["end"]].decode()})
    return text


def main():
    which, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    templates, locales = {
        "dev": (templates_dev, values.DEV_LOCALES),
        "eighth": (templates_eighth, values.EIGHTH_LOCALES),
        "ninth": (templates_ninth, values.NINTH_LOCALES),
        "tenth": (templates_tenth, values.TENTH_LOCALES),
        "eleventh": (templates_eleventh, values.ELEVENTH_LOCALES),
        "thirteenth": (templates_thirteenth, values.THIRTEENTH_LOCALES),
        "hold-out": (templates_hold_out, values.HOLD_OUT_LOCALES),
    }[which]
    rng = random.Random(seed)
    # A hold-out has no name that the development set could have.
    known = set() if which == "dev" else values.known_names(values.DEV_LOCALES)
    fakers = {}
    for number, locale in enumerate(locales):
        names, _, where = locale.partition("/")
        default = Faker("en_US")
        default.seed_instance(seed * 1000 + 750 + number)
        places = values.places(where or names, rng, default)
        if isinstance(places.fake, Faker):
            places.fake.seed_instance(seed * 1000 + 500 + number)
        fakers[locale] = values.Names(names, seed * 1000 + number, known), places
    print(json.dumps({"set": which, "seed": seed, "faker": faker.VERSION, "locales": locales}))
    for number in range(count):
        locale = locales[number % len(locales)]
        person = values.Person(*fakers[locale], rng)
        spans = []
        if rng.random() < 0.2:
            document = filled_json(rng.choice(templates.JSON), person, spans)
            text, form = json.dumps(document, ensure_ascii=rng.random() < 0.5), "json"
        else:
            text, form = filled(rng.choice(templates.TEXT), person, spans), "text"
        print(json.dumps({"locale": locale, "form": form, "text": text, "spans": spans, "roster": person.roster()}, ensure_ascii=False))


main()
