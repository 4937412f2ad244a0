//! On a session bus, with a notification server of the test's own.

use std::collections::HashMap;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use legation_tests::harness::process::{command, program, until};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use zbus::zvariant::OwnedValue;

use super::{Home, PATIENCE, script};

/// What was to be shown: program, title and text.
type Shown = Arc<Mutex<Vec<[String; 3]>>>;

/// What a desktop has that shows notifications (Desktop Notifications Specification 1.3, section 9).
struct Notifications(Shown);

#[zbus::interface(name = "org.freedesktop.Notifications")]
impl Notifications {
    #[expect(
        clippy::too_many_arguments,
        reason = "these are the arguments of the specification"
    )]
    fn notify(
        &self,
        app_name: String,
        replaces_id: u32,
        _app_icon: String,
        summary: String,
        body: String,
        _actions: Vec<String>,
        _hints: HashMap<String, OwnedValue>,
        _expire_timeout: i32,
    ) -> u32 {
        let mut shown = self.0.lock().unwrap();
        shown.push([app_name, summary, body]);
        replaces_id + 1
    }

    fn get_capabilities(&self) -> Vec<String> {
        vec!["body".to_owned()]
    }

    fn get_server_information(&self) -> (String, String, String, String) {
        ["test", "example", "1", "1.3"].map(str::to_owned).into()
    }

    fn close_notification(&self, _id: u32) {}
}

#[tokio::test]
async fn a_desktop_shows_what_came_and_nobody_else_sees_what_is_an_entitys() -> anyhow::Result<()> {
    let mut home = Home::new()?;
    let bus = command("dbus-daemon", &home.environment())
        .args(["--session", "--nofork", "--nopidfile", "--print-address=1"])
        .stdout(Stdio::piped())
        .spawn();
    let mut bus = bus?;
    let mut lines = BufReader::new(bus.stdout.take().unwrap()).lines();
    let address = tokio::time::timeout(PATIENCE, lines.next_line())
        .await??
        .unwrap();
    let shown = Shown::default();
    let desktop = zbus::connection::Builder::address(address.as_str())?
        .name("org.freedesktop.Notifications")?
        .serve_at(
            "/org/freedesktop/Notifications",
            Notifications(Arc::clone(&shown)),
        )?
        .build();
    let _desktop = tokio::time::timeout(PATIENCE, desktop).await??;
    // What others see of a program is what it is started with.
    let first = home.folder.path().join("first");
    let argv = home.folder.path().join("argv");
    let seen = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" >> '{}'\nexec /usr/bin/notify-send \"$@\"\n",
        argv.display()
    );
    script(&first, "notify-send", &seen)?;
    home.path_first = Some(first);
    let calls = home.folder.path().join("calls");
    let mut environment = home.environment();
    environment.insert("DBUS_SESSION_BUS_ADDRESS".to_owned(), address);
    let watch = command("strace", &environment)
        .args(["-f", "-q", "-e", "trace=socket,openat", "-o"])
        .arg(&calls)
        .arg(program("legation")?)
        .args(["watch", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()?;
    until("the place", PATIENCE, async || home.cursor() == Some(0)).await?;
    home.post("m1", "Ada Example", "<b>Hi</b> & welcome")
        .await?;
    let count = async || shown.lock().unwrap().len();
    until("the first", PATIENCE, async || count().await == 1).await?;
    let entity = [
        "inbox",
        "post",
        "the diagnosis",
        "--from",
        "Resident Placeholder",
        "--entity",
        "clinic",
    ];
    home.run(&entity).await?;
    until("the second", PATIENCE, async || count().await == 2).await?;
    bus.kill().await?;
    home.interrupt().await?;
    let output = tokio::time::timeout(PATIENCE, watch.wait_with_output()).await??;
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "it is quiet");
    let shown = shown.lock().unwrap().clone();
    assert_eq!(shown[0][..2], ["legation", "Message for your agent"]);
    assert!(
        shown[0][2].ends_with("Ada Example: \"&lt;b&gt;Hi&lt;/b&gt; &amp; welcome\""),
        "{shown:?}"
    );
    assert_eq!(shown[1][2], "[local] of an entity; the terminal shows it");
    let argv = std::fs::read_to_string(argv)?;
    assert!(argv.contains("Ada Example"), "{argv}");
    for word in ["diagnosis", "Placeholder", "clinic"] {
        assert!(!argv.contains(word), "{argv}");
    }
    // No network and no token: it reads the files of the inbox.
    let calls = std::fs::read_to_string(calls)?;
    assert!(calls.contains(".jsonl"), "{calls}");
    for word in ["AF_INET", "/token", "/secrets", "state.db"] {
        assert!(!calls.contains(word), "{word}: {calls}");
    }
    Ok(())
}
