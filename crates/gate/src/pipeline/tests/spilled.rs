//! Results too large for one message.

use legation_core::clock::ManualClock;
use legation_core::{SharedClock, Wall};
use legation_filter::FilterMapping;
use legation_keystore::Keystore;

use super::redaction::{NAME, rules, rules_for_cleared};
use super::*;

/// A result of many lines, each of which can be told from the others.
pub(super) fn large(lines: usize) -> (serde_json::Value, String) {
    let text: String = (0..lines)
        .map(|line| format!("line {line} of it\n"))
        .collect();
    let result = serde_json::json!({
        "content": [
            { "type": "text", "text": text },
            { "type": "image", "data": "AAAA", "mimeType": "image/png" }
        ],
        "structuredContent": { "lines": text },
    });
    (result, text)
}

impl Bench {
    pub(super) fn limited(&self, mapping: serde_json::Value) {
        let mapping = FilterMapping::read(&Raw::from_serialize(&mapping)).expect("a mapping");
        let files = ServerName::parse("files").expect("a name");
        let masker = legation_filter::SecretMasker::default();
        self.gate
            .set_cleaning(Cleaning::new(masker, [(files, mapping)]));
    }

    pub(super) fn answers(&self, result: &serde_json::Value) {
        *self.servers.reply.lock().expect("whole") = Some(Raw::from_serialize(result));
    }

    pub(super) fn value(&self, seat: &str, request: Request) -> serde_json::Value {
        match self.in_seat(seat, request).expect("a result") {
            Outcome::Complete(raw) => raw.deserialize().expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn read(&self, seat: &str, uri: &str) -> Result<Outcome, Refusal> {
        let mut request = request("-");
        request.item = Item::Resource(uri.into());
        self.in_seat(seat, request)
    }

    /// Every page of a spilled result, from its stub.
    fn pages(&self, seat: &str, result: &serde_json::Value) -> String {
        let uri = result["content"][1]["uri"]
            .as_str()
            .expect("a link")
            .to_owned();
        let mut whole = String::new();
        for page in 1.. {
            let uri = match page {
                1 => uri.clone(),
                page => format!("{uri}/{page}"),
            };
            let Ok(outcome) = self.read(seat, &uri) else {
                break;
            };
            let Outcome::Complete(raw) = outcome else {
                panic!("{outcome:?}");
            };
            let read: serde_json::Value = raw.deserialize().expect("JSON");
            assert_eq!(read["contents"][0]["uri"], uri);
            whole.push_str(read["contents"][0]["text"].as_str().expect("text"));
        }
        whole
    }
}

#[test]
fn a_large_result_is_read_in_pages_and_a_small_one_is_sent() {
    let bench = bench(rules());
    let (result, text) = large(20_000);
    bench.answers(&result);
    // Tool, what its server's entry says, whether it is put aside.
    let cases = [
        ("files-read", serde_json::json!("none"), false),
        (
            "files-read",
            serde_json::json!({ "maxResultBytes": 100_000 }),
            true,
        ),
        (
            "files-read",
            serde_json::json!({ "maxResultBytes": 0 }),
            false,
        ),
        (
            "files-read",
            serde_json::json!({ "read": { "maxResultBytes": 100_000 } }),
            true,
        ),
        (
            "files-list",
            serde_json::json!({ "read": { "maxResultBytes": 100_000 } }),
            false,
        ),
    ];
    for (tool, mapping, aside) in cases {
        bench.limited(mapping.clone());
        let got = bench.value("a", request(tool));
        if !aside {
            assert_eq!(got, result, "{tool} {mapping}");
            continue;
        }
        assert_eq!(got["content"][1]["type"], "resource_link", "{got}");
        assert_eq!(got["content"][1]["size"], text.len());
        assert_eq!(got["content"][2]["type"], "image");
        assert!(got.get("structuredContent").is_none());
        let head = got["content"][0]["text"].as_str().expect("text");
        assert!(head.starts_with("line 0 of it\nline 1"), "{head}");
        assert!(head.len() < 2_000);
        assert_eq!(bench.pages("a", &got), text);
    }
}

#[test]
fn a_page_is_of_its_caller_its_conversation_and_its_key_until_it_expires() {
    let clock = Arc::new(ManualClock::at(Wall(1_800_000_000_000)));
    let dir = tempfile::tempdir().expect("a folder");
    let bench = bench_in(
        dir,
        rules_for_cleared(),
        &(Arc::clone(&clock) as SharedClock),
    );
    bench.limited(serde_json::json!({ "maxResultBytes": 100_000 }));
    let (mut result, _) = large(20_000);
    result["content"][0]["text"] = format!(
        "{NAME}\n{}",
        result["content"][0]["text"].as_str().expect("text")
    )
    .into();
    bench.answers(&result);
    let spilled = bench.value("a", request("files-record"));
    let uri = spilled["content"][1]["uri"]
        .as_str()
        .expect("a link")
        .to_owned();
    assert!(bench.read("a", &uri).is_ok());
    let other = |uri: &str| {
        let refusal = bench.read("a", uri).expect_err("there is none");
        assert_eq!(refusal.rule(), "resolve.unknown", "{uri}");
    };
    other("legation://spill/00000000000000000000000000000000");
    other(&format!("{uri}/999"));
    other(&format!("{uri}/1"));
    other("legation://spill/../x");
    assert!(bench.read("b", &uri).is_err(), "another conversation");
    let mut stranger = super::context("codex");
    stranger.caller.seat = SeatId::new("a");
    let mut asked = request("-");
    asked.item = Item::Resource(uri.as_str().into());
    assert!(
        run(bench.gate.call(&stranger, asked)).is_err(),
        "another credential"
    );
    // It is sealed on disk.
    for file in std::fs::read_dir(bench._dir.path()).expect("a folder") {
        let path = file.expect("a file").path();
        if path.is_file() {
            let bytes = std::fs::read(&path).expect("read");
            let plain = bytes.windows(12).any(|part| part == b"Featherstone");
            assert!(!plain, "{}", path.display());
        }
    }
    // A client that lost its clearance meanwhile.
    bench.gate.set_rules(rules());
    assert!(bench.read("a", &uri).is_err(), "it was not redacted for it");
    bench.gate.set_rules(rules_for_cleared());
    assert!(bench.read("a", &uri).is_ok());
    // Its entity's key destroyed.
    let again = bench.value("a", request("files-record"));
    let keys = Keystore::open(&Home::at(bench._dir.path()).keys()).expect("a keystore");
    let before = uri.clone();
    assert!(keys.destroy("vault.meadow").expect("destroyed"));
    assert!(bench.read("a", &before).is_err());
    let second = again["content"][1]["uri"].as_str().expect("a link");
    assert!(bench.read("a", second).is_err());
    // Its time over.
    let third = bench.value("a", request("files-record"));
    let third = third["content"][1]["uri"]
        .as_str()
        .expect("a link")
        .to_owned();
    assert!(bench.read("a", &third).is_ok());
    clock.advance(std::time::Duration::from_hours(24));
    assert!(bench.read("a", &third).is_err());
    bench.gate.sweep();
    let left = bench
        .store
        .vault_list("spill/", &format!("spill/{}", &third[17..]));
    assert_eq!(left.expect("rows").len(), 0);
}

#[test]
fn what_is_put_aside_was_redacted_before() {
    let bench = bench(rules());
    bench.limited(serde_json::json!({ "maxResultBytes": 10_000 }));
    let line = format!("resident {NAME} slept well\n");
    let text = line.repeat(4_000);
    let content = [serde_json::json!({ "type": "text", "text": text })];
    bench.answers(&serde_json::json!({ "content": content }));
    let got = bench.value("a", request("files-record"));
    let whole = bench.pages("a", &got);
    assert!(whole.len() > 100_000, "{}", whole.len());
    assert!(!whole.contains("Featherstone"));
    assert!(!got.to_string().contains("Featherstone"));
    let reads = bench.recorded();
    assert!(
        reads.iter().any(|record| record == "intent spill.own -"),
        "{reads:?}"
    );
}
