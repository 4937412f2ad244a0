use serde_json::json;

use super::*;
use crate::run::toolset::WORKSPACE;
use legation_gate::Outcome;

fn call(path: &str) -> PlannedCall {
    PlannedCall {
        id: "c1".to_owned(),
        name: "read_file".to_owned(),
        flat: "workspace-read_file".into(),
        server: WORKSPACE.into(),
        arguments: json!({ "path": path }),
        reads: true,
    }
}

fn of(outcome: Outcome) -> Told {
    told(&call("a"), outcome)
}

#[test]
fn a_model_reads_what_a_result_says() {
    let result = json!({
        "content": [
            { "type": "text", "text": "one" },
            { "type": "image", "data": "AA==", "mimeType": "image/png" },
            { "type": "text", "text": "two" },
            { "type": "resource_link", "uri": "legation://spill/ab", "name": "all of it" },
        ],
        "structuredContent": { "exit_code": 3, "lines": 12 },
        "isError": true,
    });
    let told = of(Outcome::Complete(Raw::from_serialize(&result)));
    assert_eq!(
        told,
        Told {
            status: CallStatus::Error,
            text: "one\n(image that cannot be shown here)\ntwo".to_owned(),
            result_uri: Some("legation://spill/ab".to_owned()),
            exit_code: Some(3),
            lines: Some(12),
        }
    );
    let file =
        json!({ "uri": "repo://octo/cat/README.md", "mimeType": "text/markdown", "text": "# Cat" });
    let picture =
        json!({ "uri": "repo://octo/cat/cat.png", "mimeType": "image/png", "blob": "AA==" });
    let attached = json!({ "content": [
        { "type": "text", "text": "downloaded" },
        { "type": "resource", "resource": file },
        { "type": "resource", "resource": picture },
    ] });
    let told = of(Outcome::Complete(Raw::from_serialize(&attached)));
    assert_eq!(
        told.text,
        "downloaded\n[attached: repo://octo/cat/README.md]\n# Cat\n\
         [attached: repo://octo/cat/cat.png]\n(image/png that cannot be shown here)"
    );
    let structure = json!({ "content": [], "structuredContent": { "good": true } });
    let told = of(Outcome::Complete(Raw::from_serialize(&structure)));
    assert_eq!(
        (told.status, told.text.as_str()),
        (CallStatus::Success, r#"{"good":true}"#)
    );
    let nothing = of(Outcome::Complete(Raw::from_serialize(
        &json!({ "content": [] }),
    )));
    assert_eq!(nothing.text, "(The tool said nothing.)");
}

#[test]
fn what_is_not_known_is_told_from_what_failed() {
    let server = legation_core::ServerName::parse("notes").expect("a name");
    let reason = "it crashed".to_owned();
    let lost = legation_gate::CallFailure::Lost {
        server: server.clone(),
        reason,
    };
    let busy = legation_gate::CallFailure::Busy { server };
    assert_eq!(of(Outcome::Failed(lost)).status, CallStatus::Unknown);
    assert_eq!(of(Outcome::Failed(busy)).status, CallStatus::Error);
    let error = ErrorObject::new(codes::INVALID_PARAMS, "no such line");
    assert_eq!(
        of(Outcome::Error(error)),
        Told::new(CallStatus::Error, "no such line")
    );
}

#[test]
fn the_rest_of_a_result_is_read_like_a_file() {
    let page = call("legation://spill/ab/2");
    assert_eq!(spilled(&page), Some("legation://spill/ab/2"));
    let contents = json!({ "contents": [{ "uri": "legation://spill/ab/2", "text": "more" }] });
    let read = told(&page, Outcome::Complete(Raw::from_serialize(&contents)));
    assert_eq!(read, Told::new(CallStatus::Success, "more"));
    let mut other = call("legation://spill/ab");
    assert_eq!(spilled(&call("a/legation://spill/ab")), None);
    other.server = "notes".into();
    assert_eq!(
        spilled(&other),
        None,
        "another server's argument is its own"
    );
}
