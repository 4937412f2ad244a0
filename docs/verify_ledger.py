#!/usr/bin/env python3
"""Checks the ledger of a Legation data directory with nothing but Python, signatures of checkpoints included."""
import argparse, base64, contextlib, hashlib, json, pathlib, re, sqlite3, struct, sys, time, zlib
P, Q = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519: RFC 8032, section 5.1
D, I = -121665 * pow(121666, P - 2, P) % P, pow(2, (P - 1) // 4, P)
def point(data):
    square = ((y := int.from_bytes(data, "little") & (2**255 - 1))**2 - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = next((x for x in (pow(square, (P + 3) // 8, P) * turn % P for turn in (1, I)) if x * x % P == square), 0)
    return (P - x if x % 2 != data[31] >> 7 else x, y, 1) if y < P and x * x % P == square else None
def add(a, b):
    zw, xu, yv = a[2] * b[2] % P, a[0] * b[0] % P, a[1] * b[1] % P
    zz, e, cross = zw * zw % P, D * xu * yv % P, (a[0] + a[1]) * (b[0] + b[1]) - xu - yv
    return zw * (zz - e) * cross % P, zw * (zz + e) * (yv + xu) % P, (zz - e) * (zz + e) % P
def times(n, p): return add(times(n >> 1, add(p, p)), p if n & 1 else (0, 1, 1)) if n else (0, 1, 1)
def signed(key, message, signature):
    r, a, digest = point(signature[:32]), point(key), hashlib.sha512(signature[:32] + key + message).digest()
    s, h = int.from_bytes(signature[32:], "little"), int.from_bytes(digest, "little") % Q
    left, right = times(s, point(b"\x58" + b"\x66" * 31)), add(r, times(h, a)) if r and a else (0, 0, 0)
    return s < Q and right[2] != 0 and all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))
b64, quoted = lambda text: base64.b64decode(text, validate=True), lambda text: json.dumps(text, ensure_ascii=False)
def key_id(name, key): return hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]
def verifier_key(text):
    name, number, key = text.split("+", 2)
    assert b64(key)[:1] == b"\x01" and key_id(name, b64(key)[1:]).hex() == number, f"{text} is no verifier key"
    return name, b64(key)[1:]
def checkpoint(name, note):  # C2SP signed-note and tlog-checkpoint
    body, signatures = note.rsplit("\n\n", 1)
    lines, marks = body.split("\n"), [line.split(" ") for line in signatures.removesuffix("\n").split("\n")]
    heads = [(json.loads(h[3]), int(h[1]), b64(h[2])) for h in (line.split(" ", 3) for line in lines[4:])]
    text = "".join(f"head {seq} {base64.b64encode(end).decode()} {quoted(entity)}\n" for entity, seq, end in heads)
    size, root = sum(h[1] for h in heads), base64.b64encode(hashlib.sha256(b"legation heads\n" + text.encode()).digest()).decode()
    assert body.split("\n", 1)[1] + "\n" == f"{size}\n{root}\ntime {lines[3][5:]}\n{text}" and heads == sorted(heads)
    return name, size, heads, body.encode() + b"\n", [(mark[1], b64(mark[2])) for mark in marks if mark[0] == "\u2014"]
def rows(data, at=0):  # the rows of the ledger's file, and whether each is sound; what stands between them is of nobody
    def look(at):  # magic, sum, size, entity, position, place in the chain, time, hash of the one before, hash; end; sound
        head = struct.unpack("<4sIIIqqq32s32s", data[at:at + 104]) if at + 104 <= len(data) else (None,)
        end = at + 104 + (head[2] if head[0] == b"LgR1" else len(data))
        return head, end, end <= len(data) and zlib.crc32(data[at + 8:end]) == head[1]
    while at < len(data):
        head, end, sound = look(at)
        if end <= len(data) and (sound or data[end:end + 4].strip(b"\0") in (b"", b"LgR1")):
            yield head[3], *head[5:], data[at + 104:end], sound
        else:
            end = next((n.start() for n in re.finditer(b"LgR1", data) if n.start() > at and look(n.start())[2]), len(data))
            if any(data[at:]): yield 0, 0, 0, b"", b"", data[at:end], False
        at = end
def verify(path, folder=None, pinned=()):
    names = dict((db := sqlite3.connect(f"file:{path}?mode=ro", uri=True)).execute("SELECT number, name FROM ledger_entities"))
    notes = db.execute("SELECT size || ' of the store', CAST(note AS BLOB) FROM checkpoints ORDER BY origin, size").fetchall()
    notes += [(file.name, file.read_bytes()) for file in sorted(pathlib.Path(folder).rglob("*.checkpoint"))] if folder else []
    keys, faults, bad, said, named, unvouched, wanted, chains = list(map(verifier_key, pinned)), [], [], [], [], [], {}, {}
    for name, note in notes:
        try: said.append(checkpoint(name, note.decode()))
        except Exception: bad.append(("bad_checkpoint", "all", 0, name))  # whatever it is, it is no checkpoint
    for name, entity, seq, end, body in [(one[0], *head, one[3]) for one in said for head in one[2]]:
        wanted.setdefault(entity, {}).setdefault(seq, []).append((name, end, body.split(b"\n")[3]))
    for number, seq, at, prev, stated, data, sound in rows(pathlib.Path(f"{path}-ledger").read_bytes()):
        entity, computed = names.get(number, f"#{number}"), hashlib.sha256(b"\0" + prev + struct.pack(">Q", len(data)) + data).digest()
        c = chains.setdefault(entity, {"seq": 0, "ends": (bytes(32),), "open": {}, "bad": set(), "agreed": [], "new": []})
        clock = f'{time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000))}.{at % 1000:03}Z",'.encode()
        place, record, whole = f'{{"v":1,"entity":{quoted(entity)},"seq":{seq},"at":"'.encode(), {}, sound and computed == stated
        with contextlib.suppress(ValueError): record = json.loads(data) if whole and data.startswith(place + clock) else {}
        needs = {"note": (), "intent": ("call",), "refused": ("call",), "outcome": ("call", "intent")}.get(record.get("kind"))
        record = record if needs is not None and all(name in record for name in needs) else {}
        moved = whole and not data.startswith(place + clock) and data.startswith(b'{"v":1,"entity":')
        faults += [("misplaced" if moved else "malformed" if whole else "changed", entity, seq, None)] * (not record)
        away = moved and not data.startswith(place)  # it belongs elsewhere
        faults += [("repeated", entity, seq, None)] * (seq <= c["seq"] and not away)
        if away or seq <= c["seq"]: continue
        loose = [("unlinked", entity, seq, None)] * (whole and prev not in c["ends"])
        faults += [("missing", entity, c["seq"] + 1, None)] if seq > c["seq"] + 1 else loose
        c["bad"].update(range(c["seq"] + 1, min(seq + (not whole), c["seq"] + 10**6)))
        c["seq"], c["ends"], ends = seq, (computed, stated), wanted.get(entity, {}).get(seq, [])
        for name, _, when in [end for end in ends if end[1] != computed and not c["new"]][:1]:
            c["new"] = [("rewritten", entity, max([at for at, then in c["agreed"] if then <= when], default=0) + 1, name)]
        c["agreed"] += [(seq, then) for _, end, then in ends if end == computed]
        if record.get("kind") == "intent": c["open"][seq] = record["call"]
        elif record.get("kind") == "outcome" and c["open"].pop(record["intent"], None) != record["call"]:
            faults += [("orphan", entity, seq, None)] * (whole and record["intent"] not in c["bad"])
        elif entity == "all" and record.get("topic") == "checkpoint_key": named.append((seq, record["text"].split(" ")))
    for entity, c in [(entity, chains.get(entity, {"seq": 0, "new": []})) for entity in sorted(wanted, key=str.encode)]:
        beyond = [("cut", entity, c["seq"] + 1, ends[0][0]) for seq, ends in sorted(wanted[entity].items()) if seq > c["seq"]]
        bad += c["new"] + beyond[:1]
    for seq, (text, *oath) in named:
        oaths = [(key, f"legation checkpoint key\n{text}\n".encode(), b64(sign)) for sign in oath for _, key in keys]
        new, vouched = verifier_key(text), not keys or verifier_key(text) in keys or any(signed(*one) for one in oaths)
        (keys if vouched else unvouched).append(new if vouched else seq)
    mine = lambda one: [(k, one[3], m[4:]) for name, m in one[4] for n, k in keys if name == n and m[:4] == key_id(n, k)]
    trusted = [one for one in said if any(signed(*mark) for mark in mine(one))]
    bad += [("bad_checkpoint", "all", 0, one[0]) for one in said if one not in trusted and mine(one)]
    covered, known = max([one[1] for one in trusted] + [0]), max([head[1] for one in trusted for head in one[2] if head[0] == "all"] + [0])
    bad += [("key_changed", "all", seq, None) for seq in unvouched if seq > known]
    bad += [("key_changed", "all", one[1], one[0]) for one in said if one[1] > covered and not mine(one)]
    return faults + bad, covered, {entity: c["seq"] for entity, c in chains.items()}
if __name__ == "__main__":
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("database"), args.add_argument("--checkpoints"), args.add_argument("--public-key", action="append", default=[])
    found, covered, ends = verify(*vars(args.parse_args()).values())
    print(*map(quoted, found) if found else [f"intact: {ends}, {covered} records under checkpoints"], sep="\n"), sys.exit(bool(found))
