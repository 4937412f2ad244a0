//! Full disks, failing disks, and starts after a crash.

use std::sync::atomic::{AtomicBool, Ordering};

use legation_store::StoreError;

use super::*;

#[test]
fn a_full_disk_refuses_calls_and_loses_no_outcome() {
    let place = place();
    let (store, ledger) = place.open();
    let asked = asked("a");
    block_on(async {
        let intent = asked.intent(&ledger);
        let running = ledger
            .intent(&intent, Durability::Disk)
            .await
            .expect("recorded");
        store.limit_pages(Some(1)).expect("limited");
        // Fill what room the pages still have.
        let mut recorded = 0;
        let error = loop {
            let intent = asked.intent(&ledger);
            match ledger.intent(&intent, Durability::PageCache).await {
                Ok(ticket) => ledger.outcome(ticket, &OutcomeRecord::bare(Status::Ok)),
                Err(error) => break error,
            }
            recorded += 1;
            assert!(recorded < 1_000, "never full");
        };
        let LedgerError::Write { source } = &error else {
            panic!("{error}");
        };
        assert!(matches!(**source, StoreError::Full { .. }), "{source}");
        assert!(error.hint().contains("disk space"), "{}", error.hint());
        // It stays refused, and a running call may end meanwhile.
        ledger.outcome(running, &OutcomeRecord::bare(Status::Error));
        for durability in [Durability::PageCache, Durability::Disk] {
            let intent = asked.intent(&ledger);
            let refused = ledger.intent(&intent, durability).await;
            assert!(matches!(refused, Err(LedgerError::Write { .. })));
        }
        ledger.flush().await.expect_err("still full");

        store.limit_pages(None).expect("lifted");
        one_call(&ledger, &asked, Durability::Disk).await;
        ledger.flush().await.expect("flushed");
        let report = place.verify();
        assert!(report.is_intact(), "{report:?}");
        assert_eq!(report.open, 0);
        assert_eq!(report.pairs, recorded + 2);
    });
    let errors = place
        .statuses()
        .iter()
        .filter(|(_, status)| *status == Some(Status::Error))
        .count();
    assert_eq!(errors, 1);
}

static DISK_FAILS: AtomicBool = AtomicBool::new(false);

fn failing_sync(file: &File) -> io::Result<()> {
    if DISK_FAILS.load(Ordering::SeqCst) {
        return Err(io::Error::from_raw_os_error(5));
    }
    file.sync_data()
}

#[test]
fn an_intent_that_did_not_reach_the_disk_runs_nothing_and_is_closed_as_refused() {
    let place = place();
    let (_store, ledger) = place.open_with(failing_sync);
    let asked = asked("a");
    block_on(async {
        let intent = asked.intent(&ledger);
        let before = ledger
            .intent(&intent, Durability::Disk)
            .await
            .expect("recorded");
        DISK_FAILS.store(true, Ordering::SeqCst);
        let intent = asked.intent(&ledger);
        let refused = ledger.intent(&intent, Durability::Disk).await;
        let Err(LedgerError::Write { source }) = refused else {
            panic!("{refused:?}");
        };
        assert!(matches!(*source, StoreError::Sync { .. }), "{source}");
        ledger.outcome(before, &OutcomeRecord::bare(Status::Ok));
        DISK_FAILS.store(false, Ordering::SeqCst);
        one_call(&ledger, &asked, Durability::Disk).await;
        ledger.flush().await.expect("flushed");
    });
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!((report.intents, report.pairs, report.open), (3, 3, 0));
    assert_eq!(
        place.statuses(),
        [
            (Kind::Intent, None),
            (Kind::Intent, None),
            (Kind::Outcome, Some(Status::Refused)),
            (Kind::Outcome, Some(Status::Ok)),
            (Kind::Intent, None),
            (Kind::Outcome, Some(Status::Ok)),
        ]
    );
}

#[test]
fn a_start_closes_the_calls_that_were_running() {
    let place = place();
    let asked = asked("a");
    let lost: Vec<CallId> = {
        let (_store, ledger) = place.open();
        block_on(async {
            one_call(&ledger, &asked, Durability::PageCache).await;
            let mut lost = Vec::new();
            for _ in 0..3 {
                let intent = asked.intent(&ledger);
                let ticket = ledger.intent(&intent, Durability::PageCache).await;
                lost.push(intent.call);
                // As when the process is killed: nothing is dropped.
                std::mem::forget(ticket);
            }
            ledger.flush().await.expect("flushed");
            lost
        })
    };
    assert_eq!(place.verify().open, 3);
    let (store, ledger) = place.open();
    assert_eq!(ledger.swept(), 3);
    let report = ledger.verify(&Evidence::default()).expect("read");
    assert!(report.is_intact());
    assert_eq!((report.open, report.pairs), (0, 4));
    for (entry, call) in ledger.tail(3).expect("read").iter().zip(lost) {
        let record = entry.record().expect("a record");
        assert_eq!(record.status, Some(Status::Unknown));
        assert_eq!(record.call, Some(call.to_string()));
        assert_eq!(record.item.as_deref(), Some("read_file"));
        assert_eq!(record.execution_time_ms, None);
    }
    drop((store, ledger));
    assert_eq!(place.open().1.swept(), 0);
}

#[test]
fn a_start_reads_only_what_came_after_the_mark_and_misses_no_open_call() {
    let place = place();
    let (store, ledger) = place.open();
    let asked = asked("a");
    let open_at = block_on(async {
        for _ in 0..2_500 {
            one_call(&ledger, &asked, Durability::PageCache).await;
        }
        let intent = asked.intent(&ledger);
        let ticket = ledger
            .intent(&intent, Durability::PageCache)
            .await
            .expect("recorded");
        let seq = ticket.seq();
        std::mem::forget(ticket);
        for _ in 0..6_000 {
            one_call(&ledger, &asked, Durability::PageCache).await;
        }
        ledger.flush().await.expect("flushed");
        seq
    });
    let mark = store.reader().ledger_mark().expect("read");
    assert!(mark >= 4_096 && mark < open_at, "{mark} {open_at}");
    drop(store);
    std::mem::forget(ledger);
    let (_store, ledger) = place.open();
    assert_eq!(ledger.swept(), 1);
    let report = ledger.verify(&Evidence::default()).expect("read");
    assert!(report.is_intact());
    assert_eq!((report.open, report.pairs), (0, 8_501));
}

/// Tells the test below that it runs under a limit.
const LIMITED: &str = "LEGATION_TEST_LIMITED";

/// Runs one test of this program again with file-size signals ignored, so that
/// a write beyond the limit fails as one to a broken disk does.
fn again_where_writes_can_fail(test: &str) {
    let program = std::env::current_exe().expect("a program");
    let script = "trap '' XFSZ; exec \"$0\" --exact \"$1\" --nocapture";
    let spec = legation_core::process::OnceSpec {
        program: "/bin/sh".into(),
        args: ["-c".into(), script.into(), program.into(), test.into()].into(),
        env: vec![(LIMITED.into(), "1".into())],
        cwd: None,
        timeout: std::time::Duration::from_secs(60),
        keep: 1 << 20,
    };
    let output = legation_core::process::run_to_end(&spec).expect("run");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.exit.code, Some(0), "{said}{complaint}");
    assert!(said.contains("1 passed"), "{said}");
}

/// Whether writes to files fail from now on.
fn writes_fail(fail: bool) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Fsize).maximum;
    let current = if fail { Some(0) } else { maximum };
    setrlimit(Resource::Fsize, Rlimit { current, maximum }).expect("limited");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the variable says that this is the second start of the test"
)]
fn a_disk_that_cannot_be_written_refuses_calls_until_it_can() {
    if std::env::var_os(LIMITED).is_none() {
        let name = "tests::failure::a_disk_that_cannot_be_written_refuses_calls_until_it_can";
        return again_where_writes_can_fail(name);
    }
    let place = place();
    let (store, ledger) = place.open();
    let asked = asked("a");
    block_on(async {
        one_call(&ledger, &asked, Durability::Disk).await;
        let intent = asked.intent(&ledger);
        let running = ledger
            .intent(&intent, Durability::Disk)
            .await
            .expect("recorded");
        writes_fail(true);
        for durability in [
            Durability::PageCache,
            Durability::Disk,
            Durability::PageCache,
        ] {
            let refused = ledger.intent(&asked.intent(&ledger), durability).await;
            let Err(error @ LedgerError::Write { .. }) = refused else {
                panic!("{refused:?}");
            };
            assert!(
                error.to_string().contains("the record was not made"),
                "{error}"
            );
            assert!(!error.hint().is_empty());
        }
        ledger.outcome(running, &OutcomeRecord::bare(Status::Ok));
        ledger.flush().await.expect_err("still broken");
        ledger.checkpoint().expect_err("nothing can be signed for");
        writes_fail(false);
        one_call(&ledger, &asked, Durability::Disk).await;
        ledger.flush().await.expect("flushed");
    });
    drop((store, ledger));
    let report = place.verify();
    assert!(report.is_intact(), "{report:?}");
    assert_eq!(
        (report.open, report.pairs, report.intents),
        (0, report.intents, report.intents)
    );
    assert!(report.pairs >= 3, "{report:?}");
}

#[test]
fn a_call_whose_arguments_cannot_be_committed_to_does_not_run() {
    let place = place();
    let folder = place.path.with_file_name("keys");
    let keystore = Arc::new(legation_keystore::Keystore::open(&folder).expect("a keystore"));
    let store = Arc::new(Store::open(&place.path, StoreOptions::default()).expect("a store"));
    let keys = LedgerKeys::kept_in(keystore);
    let ledger = Ledger::open(store, keys, SystemClock::shared()).expect("a ledger");
    std::fs::remove_dir_all(&folder).expect("removed");
    std::fs::write(&folder, "in the way").expect("written");
    let asked = asked("a");
    let refused = block_on(ledger.intent(&asked.intent(&ledger), Durability::Disk));
    let Err(error @ LedgerError::Key { .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        error.to_string().contains("the record was not made"),
        "{error}"
    );
    assert!(error.hint().contains("keys"), "{}", error.hint());
    assert!(ledger.problems().is_empty());
    ledger.checkpoint().expect_err("no key to sign with");
    assert_eq!(place.verify().records, 0);
}
