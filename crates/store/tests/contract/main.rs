//! One contract for both stores: every case runs over SQLite and over a real
//! PostgreSQL that the tests start themselves. A noun has a file of its own.

mod approvals;
mod bench;
mod checkpoints;
mod claims;
mod counters;
mod definitions;
mod delegation;
mod desk;
mod grants;
mod kept;
mod labels;
mod leases;
mod ledger;
mod lost;
mod opening;
mod owners;
mod pins;
mod proposals;
mod server;
mod spend;
mod tasks;
mod vault;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use bench::{Bench, Case, Kind};

/// Every case of every noun.
const CONTRACT: &[(&str, &[Case])] = &[
    ("approvals", approvals::CASES),
    ("checkpoints", checkpoints::CASES),
    ("claims", claims::CASES),
    ("counters", counters::CASES),
    ("definitions", definitions::CASES),
    ("delegation", delegation::CASES),
    ("desk", desk::CASES),
    ("grants", grants::CASES),
    ("kept", kept::CASES),
    ("labels", labels::CASES),
    ("leases", leases::CASES),
    ("ledger", ledger::CASES),
    ("lost", lost::CASES),
    ("opening", opening::CASES),
    ("owners", owners::CASES),
    ("pins", pins::CASES),
    ("proposals", proposals::CASES),
    ("spend", spend::CASES),
    ("tasks", tasks::CASES),
    ("vault", vault::CASES),
];

#[test]
fn sqlite_keeps_the_contract() {
    run(|| Bench::new(Kind::file()));
}

#[test]
fn postgresql_keeps_the_contract() {
    let server = server::Server::start();
    run(|| Bench::new(Kind::server(&server)));
}

#[test]
fn every_file_of_a_noun_is_in_the_contract() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract");
    let helpers = ["bench.rs", "main.rs", "server.rs"];
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .expect("listed")
        .map(|entry| {
            let name = entry.expect("an entry").file_name();
            name.into_string().expect("Unicode")
        })
        .filter(|name| !helpers.contains(&name.as_str()))
        .collect();
    let nouns: BTreeSet<String> = CONTRACT
        .iter()
        .map(|(noun, _)| format!("{noun}.rs"))
        .collect();
    assert_eq!(files, nouns);
}

/// Runs every case, and fails with the names of those that do not hold.
fn run<'a>(bench: impl Fn() -> Bench<'a>) {
    let mut failed = Vec::new();
    let mut held = 0;
    for (noun, cases) in CONTRACT {
        assert!(!cases.is_empty(), "{noun} has no case");
        for case in *cases {
            let bench = bench();
            let holds = catch_unwind(AssertUnwindSafe(|| (case.run)(&bench))).is_ok();
            match holds {
                true => held += 1,
                false => failed.push(format!("{noun}: {}", case.name)),
            }
        }
    }
    assert!(failed.is_empty(), "{failed:#?}\n{held} other cases hold");
}
