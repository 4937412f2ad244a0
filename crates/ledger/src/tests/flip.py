"""Flips every byte of every record, one of each record at a time, and expects the verifier to name each."""
import sqlite3, struct, sys, zlib
from verify_ledger import rows, verify

path, head = sys.argv[1], struct.Struct("<IIqqq32s32s")
names = dict(sqlite3.connect(path).execute("SELECT number, name FROM ledger_entities"))
with open(f"{path}-ledger", "rb") as file:
    whole = file.read()
there = list(rows(whole))


def write(change):
    """All rows, each changed in one column, under sums that are right."""
    with open(f"{path}-ledger", "wb") as file:
        for position, row in enumerate(there, 1):
            number, seq, at, prev, stated, data, _ = change(row)
            frame = head.pack(len(data), number, position, seq, at, prev, stated) + data
            file.write(b"LgR1" + struct.pack("<I", zlib.crc32(frame)) + frame)


flips = 0
for column in (3, 4, 5):
    for at in range(max(len(row[column]) for row in there)):
        def flipped(row):
            changed = list(row)
            if at < len(row[column]):
                blob = row[column]
                changed[column] = blob[:at] + bytes([blob[at] ^ 1 << at % 8]) + blob[at + 1:]
            return changed
        write(flipped)
        faults, _, _ = verify(path)
        expected = [("changed", names[row[0]], row[1], None) for row in there if at < len(row[column])]
        assert faults == expected, (column, at, faults[:5], expected[:5])
        flips += len(expected)
write(lambda row: row)
assert verify(path)[0] == []
# As a disk does it, sums and all: every byte of one row.
at = 0
for index, row in enumerate(there):
    end = at + 104 + len(row[5])
    for place in range(at, end) if index == len(there) // 2 else ():
        with open(f"{path}-ledger", "wb") as file:
            file.write(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1:])
        faults, _, _ = verify(path)
        assert faults and faults[0][0] == "changed", (index, place - at, faults[:5])
        flips += 1
    at = end
print(flips)
