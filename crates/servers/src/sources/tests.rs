//! When a source is tried again, and what is said of it.

use super::*;

#[test]
fn what_a_person_must_mend_is_not_asked_for_every_moment() {
    let wait = |class, retry_after_s| {
        let failure = Failure {
            retry_after_s,
            ..Failure::said(class, "x".to_owned(), "y")
        };
        wait_after(&failure).as_secs()
    };
    for (class, said, expected) in [
        (Class::Unreachable, None, 30),
        (Class::Teams, None, 30),
        (Class::TokenExpired, None, 30),
        (Class::RateLimit, Some(2), 30),
        (Class::RateLimit, Some(300), 300),
        (Class::ConsentDenied, None, 900),
        (Class::ConsentDenied, Some(5), 900),
        (Class::TeamsNotLicensed, None, 900),
    ] {
        assert_eq!(wait(class, said), expected, "{class} {said:?}");
    }
}

#[test]
fn a_source_is_reported_until_it_works() {
    let reports = Reports::default();
    let accounts = Accounts::new(
        Vec::new(),
        std::sync::Arc::new(|| unreachable!("none is opened")),
    );
    let cancel = Cancel::new();
    let context = context(&cancel);
    let source = |what| Source {
        accounts: &accounts,
        account: "work",
        what,
        reports: &reports,
        context: &context,
    };
    let failure = |text: &str| Failure::said(Class::ConsentDenied, text.to_owned(), "ask for it");
    source("mail").failed(failure("no"));
    source("mail").failed(failure("still no"));
    source("chats").failed(failure("neither"));
    let problems = reports.problems();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(
        problems[1],
        "account `work`: its mail cannot be read: still no; ask for it"
    );
    source("mail").worked();
    assert_eq!(reports.problems().len(), 1);
}
