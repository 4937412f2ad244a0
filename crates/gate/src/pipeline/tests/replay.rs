//! Rows of approvals that somebody who owns the database put back.

use legation_core::clock::ManualClock;
use legation_core::{SharedClock, Wall};
use legation_keystore::{Keystore, Pin};

use super::asking::{asking, certifying, code};
use super::*;
use crate::approval::{Answer, Channel};

const DATABASE: &str = "state.db";

/// Every row of a table, as SQL that puts it back byte for byte.
fn copy(dir: &std::path::Path, table: &str) -> Vec<String> {
    let database = rusqlite::Connection::open(dir.join(DATABASE)).expect("opened");
    let names: Vec<String> = database
        .prepare(&format!("SELECT name FROM pragma_table_info('{table}')"))
        .expect("prepared")
        .query_map([], |row| row.get(0))
        .expect("run")
        .collect::<Result<_, _>>()
        .expect("names");
    let quoted: Vec<String> = names.iter().map(|name| format!("quote({name})")).collect();
    let sql = format!("SELECT {} FROM {table}", quoted.join(" || ',' || "));
    let rows: Vec<String> = database
        .prepare(&sql)
        .expect("prepared")
        .query_map([], |row| row.get(0))
        .expect("run")
        .collect::<Result<_, _>>()
        .expect("rows");
    let names = names.join(", ");
    rows.iter()
        .map(|values| format!("INSERT OR REPLACE INTO {table} ({names}) VALUES ({values})"))
        .collect()
}

fn put_back(dir: &std::path::Path, rows: &[String]) {
    assert!(!rows.is_empty(), "there is something to put back");
    let database = rusqlite::Connection::open(dir.join(DATABASE)).expect("opened");
    for row in rows {
        database.execute_batch(row).expect("put back");
    }
}

impl Bench {
    /// Ends the hub, as a stop does, and starts another over the same folder
    /// after somebody else had it.
    fn again(self, rules: Policy, between: impl FnOnce(&std::path::Path)) -> Self {
        run(self.gate.settle()).expect("recorded");
        run(self.ledger.flush()).expect("flushed");
        let Self {
            _dir: dir,
            gate,
            servers,
            store,
            ledger,
        } = self;
        drop((gate, servers, ledger));
        drop(Arc::into_inner(store).expect("nobody else has it"));
        between(dir.path());
        bench_in(dir, rules, &SystemClock::shared())
    }

    fn reported(&self) -> String {
        self.gate.asking().approvals.reported().join("\n")
    }

    fn path(&self) -> std::path::PathBuf {
        self._dir.path().to_owned()
    }
}

#[test]
fn a_used_approval_that_is_put_back_is_refused_and_reported() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    bench.say(Answer::Once);
    let rows = copy(&bench.path(), "approvals");
    // Untouched, it survives the hub and can be used.
    let bench = bench.again(asking(), |_| {});
    assert_eq!(bench.reported(), "");
    assert_eq!(code(&bench.send("a")), "done");
    let bench = bench.again(asking(), |dir| put_back(dir, &rows));
    assert!(
        bench.reported().contains("was used before"),
        "{}",
        bench.reported()
    );
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING");
    assert_eq!(bench.called(), 0);
    // While the hub runs, a row that is put back is nothing it knows of.
    bench.say(Answer::Once);
    let granted = copy(&bench.path(), "approvals");
    assert_eq!(code(&bench.send("a")), "done");
    put_back(&bench.path(), &granted);
    bench.gate.asking().approvals.reload().expect("read");
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING");
    assert_eq!(bench.called(), 1);
    assert!(
        bench.reported().contains("put back"),
        "{}",
        bench.reported()
    );
}

#[test]
fn a_denied_approval_and_a_grant_taken_back_stay_so() {
    let bench = bench(asking());
    bench.send("a").expect_err("it waits");
    let id = bench.waiting();
    bench.say(Answer::Once);
    let approvals = copy(&bench.path(), "approvals");
    let deny = |bench: &Bench| {
        let approvals = &bench.gate.asking().approvals;
        approvals.answer(&id, Answer::Deny, Channel::Command)
    };
    deny(&bench).expect("a denial beats a grant that was not used");
    let bench = bench.again(asking(), |dir| put_back(dir, &approvals));
    assert!(
        bench.reported().contains("was closed before"),
        "{}",
        bench.reported()
    );
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING");
    bench.say(Answer::Always);
    assert_eq!(code(&bench.send("b")), "done");
    let grants = copy(&bench.path(), "grants");
    let all = bench.gate.asking().approvals.grants();
    let removed = bench.gate.asking().approvals.grant_remove(&all[0].grant.id);
    assert!(removed.expect("removed"));
    let bench = bench.again(asking(), |dir| put_back(dir, &grants));
    assert!(
        bench.reported().contains("taken back before"),
        "{}",
        bench.reported()
    );
    assert_eq!(code(&bench.send("c")), "APPROVAL_PENDING");
    assert_eq!(bench.called(), 0);
}

#[test]
fn an_applied_proposal_that_is_put_back_is_refused_and_reported() {
    let bench = bench(certifying());
    bench.send("a").expect_err("it is proposed");
    let proposals = &bench.gate.asking().proposals;
    let plan = proposals.list().remove(0);
    let keys = Keystore::open(&bench.path().join("keys")).expect("a keystore");
    let (pin, now) = (Pin::new(&keys), SystemClock::shared().wall());
    pin.set(None, "correct horse", now).expect("set");
    let proof = pin.verify("correct horse", now).expect("a person");
    proposals
        .certify(&plan.id, &plan.digest, &proof)
        .expect("certified");
    let rows = copy(&bench.path(), "proposals");
    assert_eq!(code(&bench.send("a")), "done");
    let bench = bench.again(certifying(), |dir| put_back(dir, &rows));
    assert!(
        bench.reported().contains("was applied or closed"),
        "{}",
        bench.reported()
    );
    assert_eq!(code(&bench.send("a")), "CERTIFICATION_REQUIRED");
    assert_eq!(bench.called(), 0);
}

#[test]
fn an_approval_that_expired_is_closed_recorded_and_says_so() {
    const DAY: std::time::Duration = std::time::Duration::from_hours(24);
    let dir = tempfile::tempdir().expect("a folder");
    let clock = Arc::new(ManualClock::at(Wall(1_800_000_000_000)));
    let shared = Arc::clone(&clock) as SharedClock;
    let bench = bench_in(dir, asking(), &shared);
    bench.send("a").expect_err("it waits");
    let id = bench.waiting();
    clock.advance(DAY);
    bench.gate.asking().sweep();
    assert!(bench.gate.asking().approvals.list().is_empty());
    run(bench.gate.settle()).expect("recorded");
    let recorded = bench.topics();
    assert_eq!(
        recorded,
        [
            "APPROVAL_REQUESTED APPROVAL_PENDING",
            "APPROVAL_EXPIRED APPROVAL_EXPIRED"
        ]
    );
    let late = bench
        .gate
        .asking()
        .approvals
        .answer(&id, Answer::Once, Channel::Command);
    let late = late.expect_err("too late").to_string();
    assert!(late.contains("its time was over"), "{late}");
    assert_eq!(code(&bench.send("a")), "APPROVAL_PENDING", "it asks anew");
    // The clock a day back: what was asked is dated later than now.
    let waiting = bench.waiting();
    run(bench.gate.settle()).expect("recorded");
    let Bench {
        _dir: dir,
        gate,
        servers,
        store,
        ledger,
    } = bench;
    drop((gate, servers, ledger));
    drop(Arc::into_inner(store).expect("nobody else has it"));
    let back = Arc::new(ManualClock::at(Wall(1_800_000_000_000)));
    let back = bench_in(dir, asking(), &(back as SharedClock));
    assert!(back.gate.asking().approvals.get(&waiting).is_none());
    let refused = back
        .gate
        .asking()
        .approvals
        .answer(&waiting, Answer::Once, Channel::Command);
    assert!(refused.is_err(), "and cannot be answered");
    assert_eq!(back.called(), 0);
}
