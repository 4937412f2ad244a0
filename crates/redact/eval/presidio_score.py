"""Scores `presidio-analyzer` on the same notes, with its patterns and an empty language model.

No model and no network: the engine's names come from a model that is not installed here, so what
is compared are its recognisers of patterns. The list of public suffixes is the one that its
package brings along.
"""

import json
import logging
import re
import sys
import time

import tldextract

tldextract.extract = tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)
tldextract.tldextract.TLD_EXTRACTOR = tldextract.extract
logging.disable(logging.CRITICAL)

import spacy
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import SpacyNlpEngine

PATTERNED = {
    "date", "age", "phone", "fax", "email", "ssn", "mrn", "plan", "account", "licence", "vehicle", "device", "url",
    "ip", "id",
}


class Blank(SpacyNlpEngine):
    def __init__(self):
        super().__init__()
        self.nlp = {"en": spacy.blank("en")}

    def load(self):
        pass

    def is_loaded(self):
        return True


def main():
    analyzer = AnalyzerEngine(nlp_engine=Blank(), supported_languages=["en"])
    share = {name: [0, 0] for name in ("roster", "patterned", "spans", "leaking notes", "words lost")}
    classes, size, spent = {}, 0, 0.0

    def add(counts, hit):
        counts[0] += bool(hit)
        counts[1] += 1

    with open(sys.argv[1]) as notes:
        next(notes)
        for line in notes:
            note = json.loads(line)
            text = note["text"]
            started = time.perf_counter()
            found = analyzer.analyze(text=text, language="en")
            spent += time.perf_counter() - started
            size += len(text.encode())
            covered = [False] * len(text)
            for result in found:
                covered[result.start:result.end] = [True] * (result.end - result.start)
            left = "".join(" " if hidden else c for c, hidden in zip(text, covered))
            words, gold, leaked = set(re.findall(r"\w+", left)), [False] * len(text), False
            raw = text.encode()
            for span in note["spans"]:
                if "value" in span:
                    hit = not any(len(part) >= 3 and part in words for part in re.findall(r"\w+", span["value"]))
                else:
                    start, end = len(raw[:span["start"]].decode()), len(raw[:span["end"]].decode())
                    gold[start:end] = [True] * (end - start)
                    hit = all(covered[at] or not text[at].isalnum() for at in range(start, end))
                leaked |= not hit
                add(share["spans"], hit)
                add(classes.setdefault(span["class"], [0, 0]), hit)
                if span["roster"]:
                    add(share["roster"], hit)
                if span["class"] in PATTERNED:
                    add(share["patterned"], hit)
            add(share["leaking notes"], leaked)
            if note["form"] == "text":
                for word in re.finditer(r"[^\W\d_]{2,}", text):
                    if not gold[word.start()]:
                        add(share["words lost"], covered[word.start()])
    for name, (hit, total) in share.items():
        print(json.dumps({"name": name, "percent": 100 * hit / max(total, 1), "hit": hit, "all": total}))
    for name, (hit, total) in sorted(classes.items()):
        print(json.dumps({"class": name, "percent": 100 * hit / total, "hit": hit, "all": total}))
    print(json.dumps({"name": "speed", "megabytes_per_second": size / spent / 1e6}))


main()
