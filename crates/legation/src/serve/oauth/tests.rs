use futures_util::{FutureExt as _, StreamExt as _};
use legation_console::Since;
use legation_core::{BootId, ServerName, SystemClock};

use super::*;

#[test]
fn those_who_look_on_hear_of_sign_ins_without_why_they_failed() {
    let boot = BootId::random().expect("random bytes");
    let happened = Arc::new(EventLog::new(&boot, &SystemClock::shared()));
    let mut heard = happened.follow(&Since::Now);
    let server = || ServerName::parse("notes").expect("a name");
    let all = [
        News::Required {
            server: server(),
            url: "https://notes.example.com/mcp".to_owned(),
            client_id: Some("a-client".into()),
        },
        News::Completed {
            server: server(),
            failure: None,
        },
        News::Completed {
            server: server(),
            failure: Some("the server's own words".to_owned()),
        },
    ];
    for news in &all {
        tell(&happened, news);
    }
    let said: Vec<String> = std::iter::from_fn(|| heard.next().now_or_never().flatten())
        .map(|event| {
            let data = event.data();
            format!("{} {}", event.name(), String::from_utf8_lossy(&data))
        })
        .collect();
    assert_eq!(
        said,
        [
            r#"mcp.oauth_required {"serverName":"notes","serverUrl":"https://notes.example.com/mcp"}"#,
            r#"mcp.oauth_completed {"serverName":"notes","success":true}"#,
            r#"mcp.oauth_completed {"serverName":"notes","success":false}"#,
        ]
    );
}
