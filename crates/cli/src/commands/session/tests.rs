use legation_api::conversation::{SessionView, SessionsAnswer};

use super::render;

#[test]
fn sessions_are_listed_with_the_current_ones_marked() {
    let session = |id: &str, current, workspace: Option<&str>| SessionView {
        id: id.to_owned(),
        workspace: workspace.map(str::to_owned),
        title: "Help me\u{202e}".to_owned(),
        created: "2026-11-21T10:00:00Z".to_owned(),
        active: "2026-11-21T11:00:00Z".to_owned(),
        messages: 7,
        entities: Vec::new(),
        current,
    };
    let answer = SessionsAnswer {
        sessions: vec![
            session("ses_2", true, Some("/home/alex/chess")),
            session("ses_1", false, None),
        ],
    };
    expect_test::expect![[r"
           ID     USED                  ENTRIES  FOLDER            TITLE
        *  ses_2  2026-11-21T11:00:00Z  7        /home/alex/chess  Help me\u{202e}
           ses_1  2026-11-21T11:00:00Z  7        -                 Help me\u{202e}
    "]]
    .assert_eq(&render(&answer));
    assert_eq!(
        render(&SessionsAnswer::default()),
        "There are no sessions.\n"
    );
}
