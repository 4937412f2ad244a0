//! Health information on its way to a client that may not see it, and back.

use legation_keystore::Keystore;
use legation_policy::governance::{FileText, Template};

use super::*;

pub(super) const NAME: &str = "Wilhelmina Featherstone";

/// The personal template with two entities more, one with health information.
pub(super) fn rules() -> Policy {
    rules_with(&[])
}

/// The same, for a client that may see health information.
pub(super) fn rules_for_cleared() -> Policy {
    loaded(&[], true)
}

/// The first, in which a person is asked about every record.
pub(super) fn asking_rules() -> Policy {
    let (mut sources, known) = sources(&[], false);
    let FileText::Text(rules) = &mut sources.permissions else {
        panic!("the template has rules");
    };
    rules.push_str("\n[[rule]]\nid = \"record-asks\"\nrule = 'ask files/record'\n");
    Policy::load(&sources, &known)
}

fn rules_with(rosters: &[&str]) -> Policy {
    loaded(rosters, false)
}

fn loaded(rosters: &[&str], cleared: bool) -> Policy {
    let (sources, known) = sources(rosters, cleared);
    Policy::load(&sources, &known)
}

fn sources(
    rosters: &[&str],
    cleared: bool,
) -> (legation_policy::governance::Sources, Vec<KnownTool>) {
    let mut sources = Template::Personal.sources();
    let FileText::Text(profile) = &sources.operator_profile else {
        panic!("the template has a profile");
    };
    let mut profile: serde_json::Value = serde_json::from_str(profile).expect("JSON");
    profile["entities"]["harbor"] = serde_json::json!({ "name": "Harbor" });
    profile["entities"]["meadow"] = serde_json::json!({
        "name": "Meadow", "phi_auto_redact": true, "redaction_fields": ["resident_name"],
        "roster_files": rosters
    });
    if cleared {
        profile["client_clearances"]["claude"] =
            serde_json::json!({ "entities": "all", "phi": true });
    }
    sources.operator_profile = FileText::Text(profile.to_string());
    let files = ServerName::parse("files").expect("a name");
    (sources, vec![KnownTool::server_only(files, true)])
}

pub(super) fn context(seat: &str) -> OpContext {
    let mut context = super::context("claude");
    context.caller.principal.via = Via::Socket;
    context.caller.seat = SeatId::new(seat);
    context
}

fn with(tool: &str, note: &str) -> Request {
    let mut request = request(tool);
    let arguments = Object::new().with("note", Raw::str(note)).to_raw();
    request.params.set("arguments", arguments);
    request
}

impl Bench {
    pub(super) fn in_seat(&self, seat: &str, request: Request) -> Result<Outcome, Refusal> {
        run(self.gate.call(&context(seat), request))
    }

    /// The result of a call about a resident, and the token in it.
    pub(super) fn record(&self, seat: &str) -> Result<(String, String), Refusal> {
        *self.servers.reply.lock().expect("whole") =
            Some(Raw::from_serialize(&serde_json::json!({
                "content": [{ "type": "text", "text": "the note" }],
                "structuredContent": { "resident_name": NAME },
                "isError": false
            })));
        let outcome = self.in_seat(seat, with("files-record", "the note"))?;
        let Outcome::Complete(raw) = outcome else {
            panic!("a result: {outcome:?}");
        };
        let text = raw.as_text().to_owned();
        let start = text
            .find("⟦P:name:")
            .unwrap_or_else(|| panic!("a token in {text}"));
        let end = start + text[start..].find('⟧').expect("an end") + "⟧".len();
        let token = text[start..end].to_owned();
        Ok((text, token))
    }

    pub(super) fn last_seen(&self) -> String {
        let seen = self.servers.seen.lock().expect("whole");
        seen.last().cloned().unwrap_or_default()
    }
}

#[test]
fn a_token_goes_back_to_its_entity_and_its_conversation_only() {
    let bench = bench(rules());
    let (text, token) = bench.record("a").expect("a result");
    assert!(!text.contains("Featherstone"), "{text}");
    for word in [
        r#""content":[{"type":"text","text":"#,
        r#""structuredContent":{"#,
        r#""isError":false"#,
    ] {
        assert!(text.contains(word), "{word} in {text}");
    }
    let lower = token.to_lowercase();
    let forged = "⟦P:name:Z0Z0Z0⟧";
    let cases: [(&str, &str, &str, &str); 6] = [
        ("a", "files-record", &token, NAME),
        ("a", "files-record", &lower, NAME),
        ("a", "files-record", forged, forged),
        ("a", "files-ledger", &token, &token),
        ("a", "files-read", &token, &token),
        ("b", "files-record", &token, &token),
    ];
    for (seat, tool, sent, got) in cases {
        bench.in_seat(seat, with(tool, sent)).expect("called");
        let seen = bench.last_seen();
        assert_eq!(
            seen,
            format!(r#"{{"note":"{got}"}}"#),
            "{seat} {tool} {sent}"
        );
    }
    let (again, same) = bench.record("a").expect("a result");
    assert_eq!((again, &same), (text, &token), "one value has one token");
    assert_ne!(
        bench.record("b").expect("a result").1,
        token,
        "tokens are random"
    );
}

#[test]
fn what_leaves_an_entity_in_arguments_is_redacted() {
    let bench = bench(rules());
    let sent = format!("Resident {NAME}, born 1941-03-02");
    bench
        .in_seat("a", with("files-read", &sent))
        .expect("called");
    assert!(
        bench.last_seen().contains(NAME),
        "the conversation holds nothing yet"
    );
    bench.record("a").expect("a result");
    for tool in ["files-read", "files-ledger"] {
        bench.in_seat("a", with(tool, &sent)).expect("called");
        let seen = bench.last_seen();
        assert!(
            !seen.contains("Featherstone") && seen.contains("⟦P:name:"),
            "{seen}"
        );
        assert!(!seen.contains("1941-03-02"), "{seen}");
    }
    bench
        .in_seat("a", with("files-record", &sent))
        .expect("called");
    assert!(bench.last_seen().contains(NAME), "it stays with its entity");
}

#[test]
fn values_are_sealed_on_disk_and_gone_with_their_key() {
    let bench = bench(rules());
    let (_, token) = bench.record("a").expect("a result");
    let home = Home::at(bench._dir.path());
    let rows = bench.store.vault_list("meadow", "a").expect("rows");
    let named = format!("{token} a");
    assert!(rows.iter().any(|row| row.token == named), "{rows:?}");
    // The same token drawn in another conversation is another row.
    let twin = legation_store::VaultRow {
        conversation: "b".to_owned(),
        token: format!("{token} b"),
        ..rows[0].clone()
    };
    bench.store.vault_put(&[twin]).expect("kept");
    assert_eq!(bench.store.vault_list("meadow", "a").expect("rows"), rows);
    for file in std::fs::read_dir(bench._dir.path()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("read");
            let plain = bytes.windows(12).any(|part| part == b"Featherstone");
            assert!(!plain, "{}", path.display());
        }
    }
    let keys = Keystore::open(&home.keys()).expect("a keystore");
    assert!(keys.destroy("vault.meadow").expect("destroyed"));
    bench
        .in_seat("a", with("files-record", &token))
        .expect("called");
    assert_eq!(bench.last_seen(), format!(r#"{{"note":"{token}"}}"#));
}

#[test]
fn a_result_whose_tokens_cannot_be_kept_is_withheld() {
    let bench = bench(rules());
    bench.record("a").expect("a result");
    let database = Home::at(bench._dir.path()).state_db();
    let database = rusqlite::Connection::open(database).expect("opened");
    let trigger =
        "CREATE TRIGGER full BEFORE INSERT ON vault BEGIN SELECT RAISE(ABORT, 'full'); END";
    database.execute_batch(trigger).expect("run");
    let refusal = bench.record("b").expect_err("withheld");
    assert_eq!(refusal.rule(), "redaction.vault");
    assert_eq!(refusal.reason_code().as_str(), "UNREDACTED_PHI");
    assert!(!format!("{:?}", refusal.to_error()).contains("Featherstone"));
}

#[test]
fn an_entity_without_health_information_is_left_alone() {
    let bench = bench(rules());
    for _ in 0..2 {
        bench
            .in_seat("a", with("files-ledger", NAME))
            .expect("called");
        assert!(bench.last_seen().contains(NAME));
    }
    let rows = bench.store.vault_list("harbor", "a").expect("rows");
    assert!(rows.is_empty());
}

#[test]
fn without_a_roster_that_is_named_nothing_is_handed_on() {
    let bench = bench(rules_with(&["rosters/lost.json"]));
    let refusal = bench.record("a").expect_err("withheld");
    assert_eq!(refusal.reason_code().as_str(), "UNREDACTED_PHI");
    assert_eq!(refusal.rule(), "redaction.no_redactor");
    let before = bench.servers.calls.load(Ordering::Relaxed);
    let refusal = bench
        .in_seat("a", with("files-read", NAME))
        .expect_err("it leaves its entity");
    assert_eq!(refusal.rule(), "redaction.no_redactor");
    assert_eq!(bench.servers.calls.load(Ordering::Relaxed), before);
}
