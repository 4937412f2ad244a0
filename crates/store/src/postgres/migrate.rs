//! The schema on PostgreSQL: the same steps by the same names as in a file.

use super::session::{ServerSession, answer};
use crate::OpenError;
use crate::sqlite::migrate::{Step, compare};

/// Every step, in order.
pub(super) const STEPS: &[Step] = &[
    Step {
        name: "ledger",
        sql: include_str!("../schema/postgres/0001_ledger.sql"),
    },
    Step {
        name: "definitions",
        sql: include_str!("../schema/postgres/0002_definitions.sql"),
    },
    Step {
        name: "tasks",
        sql: include_str!("../schema/postgres/0003_tasks.sql"),
    },
    Step {
        name: "counters",
        sql: include_str!("../schema/postgres/0004_counters.sql"),
    },
    Step {
        name: "approvals",
        sql: include_str!("../schema/postgres/0005_approvals.sql"),
    },
    Step {
        name: "grants",
        sql: include_str!("../schema/postgres/0006_grants.sql"),
    },
    Step {
        name: "proposals",
        sql: include_str!("../schema/postgres/0007_proposals.sql"),
    },
    Step {
        name: "pins",
        sql: include_str!("../schema/postgres/0008_pins.sql"),
    },
    Step {
        name: "vault",
        sql: include_str!("../schema/postgres/0009_vault.sql"),
    },
    Step {
        name: "labels",
        sql: include_str!("../schema/postgres/0010_labels.sql"),
    },
    Step {
        name: "checkpoints",
        sql: include_str!("../schema/postgres/0011_checkpoints.sql"),
    },
    Step {
        name: "leases",
        sql: include_str!("../schema/postgres/0012_leases.sql"),
    },
    Step {
        name: "kept",
        sql: include_str!("../schema/postgres/0013_kept.sql"),
    },
    Step {
        name: "grants on behalf of",
        sql: include_str!("../schema/postgres/0014_grants_on_behalf_of.sql"),
    },
    Step {
        name: "delegation",
        sql: include_str!("../schema/postgres/0015_delegation.sql"),
    },
    Step {
        name: "spend",
        sql: include_str!("../schema/postgres/0016_spend.sql"),
    },
    Step {
        name: "desk",
        sql: include_str!("../schema/postgres/0017_desk.sql"),
    },
    Step {
        name: "session_clients",
        sql: include_str!("../schema/postgres/0018_session_clients.sql"),
    },
    Step {
        name: "delegated_owners",
        sql: include_str!("../schema/postgres/0019_delegated_owners.sql"),
    },
];

/// One hub at a time changes the schema: an advisory lock, held by the
/// transaction, whose number stands for nothing.
const LOCK: &str = "SELECT pg_advisory_xact_lock(5207390281745533)";
const RECORD: &str = "CREATE TABLE IF NOT EXISTS schema_steps (
    step BIGINT PRIMARY KEY,
    name TEXT COLLATE \"C\" NOT NULL
)";
const READ: &str = "SELECT name FROM schema_steps ORDER BY step";

/// Brings the database to the present schema, in one transaction.
pub(super) fn migrate(session: &mut ServerSession, place: &str) -> Result<(), OpenError> {
    migrate_with(session, place, STEPS)
}

pub(super) fn migrate_with(
    session: &mut ServerSession,
    place: &str,
    steps: &[Step],
) -> Result<(), OpenError> {
    let fail = |what| OpenError::postgres(what, place);
    session
        .batch("BEGIN")
        .map_err(fail("beginning the migration of"))?;
    answer(session.client.query_one(LOCK, &[])).map_err(fail("locking the schema of"))?;
    session.batch(RECORD).map_err(fail("migrating"))?;
    let done = check_with(session, place, steps)?;
    for (index, step) in steps.iter().enumerate().skip(done) {
        session.batch(step.sql).map_err(fail("migrating"))?;
        let number = i64::try_from(index + 1).unwrap_or(i64::MAX);
        answer(session.client.execute(
            "INSERT INTO schema_steps (step, name) VALUES ($1, $2)",
            &[&number, &step.name],
        ))
        .map_err(fail("migrating"))?;
    }
    session
        .batch("COMMIT")
        .map_err(fail("committing the migration of"))
}

/// Refuses a database whose schema is not the present one.
pub(super) fn check(session: &mut ServerSession, place: &str) -> Result<(), OpenError> {
    let done = check_with(session, place, STEPS)?;
    if done < STEPS.len() {
        return Err(OpenError::OlderSchema {
            place: place.to_owned(),
            found: done,
            known: STEPS.len(),
        });
    }
    Ok(())
}

fn check_with(
    session: &mut ServerSession,
    place: &str,
    steps: &[Step],
) -> Result<usize, OpenError> {
    let rows = answer(session.client.query(READ, &[]))
        .map_err(OpenError::postgres("reading the schema of", place))?;
    let names: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    compare(&names, place, steps)
}
