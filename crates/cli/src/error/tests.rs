use legation_api::RemoteError;
use serde_json::json;

use super::*;

#[test]
fn what_a_hub_says_becomes_an_exit_code() {
    let remote = |data: serde_json::Value| {
        AdminError::Remote(RemoteError {
            code: -31000,
            message: "no".to_owned(),
            data: Some(data),
        })
    };
    let cases = [
        (remote(json!({})), Exit::Failed, 1),
        (remote(json!({"hint": "h"})), Exit::Failed, 1),
        (remote(json!({"rule": "resolve.unknown"})), Exit::Failed, 1),
        (remote(json!({"rule": "files.no-writes"})), Exit::Refused, 3),
        (remote(json!({"rule": "default.deny"})), Exit::Refused, 3),
        (AdminError::Gone, Exit::NotReachable, 4),
    ];
    for (error, exit, code) in cases {
        let error = CliError::from(error);
        assert_eq!((error.exit, error.exit.code()), (exit, code), "{error:?}");
    }
    assert_eq!(Exit::Usage.code(), 2);
    let error = CliError::from(remote(json!({"rule": "r", "hint": "h"})));
    assert_eq!(error.rule.as_deref(), Some("r"));
    assert_eq!(error.hint.as_deref(), Some("h"));
}
