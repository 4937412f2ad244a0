//! Changing the rows behind the ledger's back, in the words of SQL: they are read into a table `ledger`, and written
//! back as somebody would who knows how, sums included.

use rusqlite::Connection;

use super::*;

/// Magic, sum, size, entity, position, place in the chain, time, two hashes.
pub(super) const HEAD: usize = 104;

/// The rows as a table, beside the tables of the database.
pub(super) struct Table {
    pub(super) connection: Connection,
    path: PathBuf,
}

/// Where the rows stand.
pub(super) fn path(place: &Place) -> PathBuf {
    let mut name = place.path.clone().into_os_string();
    name.push("-ledger");
    PathBuf::from(name)
}

/// Changes the rows.
pub(super) fn edit(place: &Place, sql: &str) {
    let table = Table::open(place);
    table.connection.execute_batch(sql).expect("edited");
    table.save();
}

impl Table {
    pub(super) fn open(place: &Place) -> Self {
        let connection = Connection::open(&place.path).expect("opened");
        connection
            .execute_batch(
                "CREATE TEMP TABLE ledger (position INTEGER PRIMARY KEY, entity INTEGER, seq INTEGER,
                     at_ms INTEGER, prev BLOB, hash BLOB, bytes BLOB)",
            )
            .expect("made");
        let path = path(place);
        let file = std::fs::read(&path).expect("read");
        let mut rest = &file[..];
        let number = |at: usize, bytes: &[u8]| {
            i64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
        };
        let small = |at: usize, bytes: &[u8]| {
            u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
        };
        while rest.starts_with(b"LgR1") {
            let size = small(8, rest) as usize;
            let (row, after) = rest.split_at(HEAD + size);
            connection
                .execute(
                    "INSERT INTO ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    (
                        number(16, row),
                        small(12, row),
                        number(24, row),
                        number(32, row),
                        &row[40..72],
                        &row[72..HEAD],
                        &row[HEAD..],
                    ),
                )
                .expect("a row");
            rest = after;
        }
        Self { connection, path }
    }

    /// Writes the rows back, in the order of their positions.
    pub(super) fn save(&self) {
        let mut file = Vec::new();
        let mut statement = self
            .connection
            .prepare_cached(
                "SELECT entity, seq, at_ms, prev, hash, bytes FROM ledger ORDER BY position",
            )
            .expect("prepared");
        let mut rows = statement.query([]).expect("queried");
        let mut position = 0i64;
        while let Some(row) = rows.next().expect("read") {
            position += 1;
            let text: Vec<u8> = row.get(5).expect("a record");
            let mut frame = u32::try_from(text.len())
                .expect("small")
                .to_le_bytes()
                .to_vec();
            frame.extend(row.get::<_, u32>(0).expect("an entity").to_le_bytes());
            frame.extend(position.to_le_bytes());
            for column in [1, 2] {
                frame.extend(row.get::<_, i64>(column).expect("a number").to_le_bytes());
            }
            for column in [3, 4] {
                // There is room for so much, whatever somebody puts there.
                let mut hash: Vec<u8> = row.get(column).expect("a hash");
                hash.resize(32, 0);
                frame.extend(hash);
            }
            frame.extend(text);
            file.extend(b"LgR1");
            file.extend(crc32fast::hash(&frame).to_le_bytes());
            file.extend(frame);
        }
        std::fs::write(&self.path, file).expect("written");
    }
}
