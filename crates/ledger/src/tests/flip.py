"""Flips every byte of every record, one of each record at a time, and expects the verifier to name each."""
import sqlite3, sys
from verify_ledger import verify

path = sys.argv[1]
db = sqlite3.connect(path)
db.execute("PRAGMA synchronous = OFF")
flips = 0
for column in ("prev", "hash", "bytes"):
    rows = db.execute(
        f"SELECT position, name, seq, {column} FROM ledger JOIN ledger_entities ON number = entity ORDER BY position"
    ).fetchall()
    for at in range(max(len(row[3]) for row in rows) + 1):
        changed, expected = [], []
        for position, entity, seq, blob in rows:
            if at < len(blob):
                changed.append((blob[:at] + bytes([blob[at] ^ 1 << at % 8]) + blob[at + 1:], position))
                expected.append(("changed", entity, seq, None))
            elif at == len(blob):
                changed.append((blob, position))
        db.executemany(f"UPDATE ledger SET {column} = ? WHERE position = ?", changed)
        db.commit()
        faults, _, _ = verify(path)
        assert faults == expected, (column, at, faults[:5], expected[:5])
        flips += len(expected)
    db.executemany(f"UPDATE ledger SET {column} = ? WHERE position = ?", [(row[3], row[0]) for row in rows])
    db.commit()
assert verify(path)[0] == []
print(flips)
