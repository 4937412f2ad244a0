//! The schema, as small named steps.
//!
//! A fresh database is made from the whole present schema, an older one goes
//! through the steps it has not seen; a test holds the two to the same result.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::OpenError;

/// One change of the schema. A step that has been released is never edited.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// Every step, in order.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "ledger",
        sql: include_str!("../schema/sqlite/0001_ledger.sql"),
    },
    Step {
        name: "definitions",
        sql: include_str!("../schema/sqlite/0002_definitions.sql"),
    },
    Step {
        name: "tasks",
        sql: include_str!("../schema/sqlite/0003_tasks.sql"),
    },
    Step {
        name: "counters",
        sql: include_str!("../schema/sqlite/0004_counters.sql"),
    },
    Step {
        name: "approvals",
        sql: include_str!("../schema/sqlite/0005_approvals.sql"),
    },
    Step {
        name: "grants",
        sql: include_str!("../schema/sqlite/0006_grants.sql"),
    },
    Step {
        name: "proposals",
        sql: include_str!("../schema/sqlite/0007_proposals.sql"),
    },
    Step {
        name: "pins",
        sql: include_str!("../schema/sqlite/0008_pins.sql"),
    },
    Step {
        name: "vault",
        sql: include_str!("../schema/sqlite/0009_vault.sql"),
    },
    Step {
        name: "labels",
        sql: include_str!("../schema/sqlite/0010_labels.sql"),
    },
    Step {
        name: "checkpoints",
        sql: include_str!("../schema/sqlite/0011_checkpoints.sql"),
    },
    Step {
        name: "leases",
        sql: include_str!("../schema/sqlite/0012_leases.sql"),
    },
    Step {
        name: "kept",
        sql: include_str!("../schema/sqlite/0013_kept.sql"),
    },
    Step {
        name: "grants on behalf of",
        sql: include_str!("../schema/sqlite/0014_grants_on_behalf_of.sql"),
    },
    Step {
        name: "delegation",
        sql: include_str!("../schema/sqlite/0015_delegation.sql"),
    },
    Step {
        name: "spend",
        sql: include_str!("../schema/sqlite/0016_spend.sql"),
    },
    Step {
        name: "desk",
        sql: include_str!("../schema/sqlite/0017_desk.sql"),
    },
    Step {
        name: "session_clients",
        sql: include_str!("../schema/sqlite/0018_session_clients.sql"),
    },
    Step {
        name: "delegated_owners",
        sql: include_str!("../schema/sqlite/0019_delegated_owners.sql"),
    },
    Step {
        name: "ledger_places",
        sql: include_str!("../schema/sqlite/0020_ledger_places.sql"),
    },
];

/// The schema all steps lead to.
const PRESENT: &str = include_str!("../schema/sqlite/present.sql");

const RECORD: &str = "CREATE TABLE IF NOT EXISTS schema_steps (
    step INTEGER PRIMARY KEY,
    name TEXT NOT NULL
) STRICT";

/// Brings the database to the present schema, in one transaction.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), OpenError> {
    migrate_with(connection, path, STEPS, PRESENT)
}

pub(crate) fn migrate_with(
    connection: &mut Connection,
    path: &Path,
    steps: &[Step],
    present: &str,
) -> Result<(), OpenError> {
    let fail = |what| OpenError::sqlite(what, path);
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(fail("beginning the migration of"))?;
    transaction
        .execute_batch(RECORD)
        .map_err(fail("migrating"))?;
    let done = check(&transaction, path, steps)?;
    if done == 0 {
        transaction
            .execute_batch(present)
            .map_err(fail("making the schema of"))?;
    }
    for (index, step) in steps.iter().enumerate().skip(done) {
        if done != 0 {
            transaction
                .execute_batch(step.sql)
                .map_err(fail("migrating"))?;
        }
        transaction
            .execute(
                "INSERT INTO schema_steps (step, name) VALUES (?1, ?2)",
                (i64::try_from(index + 1).unwrap_or(i64::MAX), step.name),
            )
            .map_err(fail("migrating"))?;
    }
    transaction
        .commit()
        .map_err(fail("committing the migration of"))
}

/// How many of `steps` the database has; refuses one whose history differs.
pub(crate) fn check(
    connection: &Connection,
    path: &Path,
    steps: &[Step],
) -> Result<usize, OpenError> {
    let fail = || OpenError::sqlite("reading the schema of", path);
    let names: Vec<String> = connection
        .prepare("SELECT name FROM schema_steps ORDER BY step")
        .and_then(|mut statement| {
            let names = statement.query_map([], |row| row.get(0))?;
            names.collect()
        })
        .map_err(fail())?;
    compare(&names, &path.display().to_string(), steps)
}

/// How many of `steps` are on record; refuses a history that differs.
pub(crate) fn compare(names: &[String], place: &str, steps: &[Step]) -> Result<usize, OpenError> {
    for (index, (found, step)) in names.iter().zip(steps).enumerate() {
        if found != step.name {
            return Err(OpenError::ForeignSchema {
                place: place.to_owned(),
                step: index + 1,
                found: found.clone(),
                expected: step.name,
            });
        }
    }
    if names.len() > steps.len() {
        return Err(OpenError::NewerSchema {
            place: place.to_owned(),
            found: names.len(),
            known: steps.len(),
        });
    }
    Ok(names.len())
}
