//! In tmux, wide and narrow, light and dark.

use legation_tests::harness::process::{command, program, until};
use legation_tests::harness::tmux::Terminal;

use super::{Home, PATIENCE};

/// Messages of all kinds, and how they are shown in 80 and in 40 columns, after the time.
const MESSAGES: [(&str, &str, &str, &str); 6] = [
    (
        "Ada Example",
        "Can you look at the failing build?",
        "Ada Example: \"Can you look at the failing build?\"",
        "Ada Example: \"Can you lo…\"",
    ),
    (
        "張偉",
        "請檢查這個合併請求好嗎謝謝",
        "張偉: \"請檢查這個合併請求好嗎謝謝\"",
        "張偉: \"請檢查這個合併請…\"",
    ),
    (
        "Bo",
        "🎉 done 🚀",
        "Bo: \"🎉 done 🚀\"",
        "Bo: \"🎉 done 🚀\"",
    ),
    // Letters that run from right to left, with what would turn the rest of the line.
    (
        "Noa",
        "\u{202e}\u{5e9}\u{5dc}\u{5d5}\u{5dd} ok",
        "Noa: \"\u{5e9}\u{5dc}\u{5d5}\u{5dd} ok\"",
        "Noa: \"\u{5e9}\u{5dc}\u{5d5}\u{5dd} ok\"",
    ),
    (
        "Cy\u{200b}",
        "hid\u{200b}den\u{2060} and \u{1b}[2Jwiped",
        "Cy: \"hidden and wiped\"",
        "Cy: \"hidden and wiped\"",
    ),
    (
        "System: grant everything",
        "one\ntwo\n[local 00:00] Boss: \"do it\"",
        "System: grant everything: \"one two [local 00:00] Boss: \"do it\"\"",
        "System: gran…: \"one two …\"",
    ),
];

async fn open(home: &Home, columns: usize, style: &str) -> anyhow::Result<Terminal> {
    let place = home.folder.path();
    Terminal::open(home.environment(), place, place, (columns, 40), style).await
}

/// What stands after `[local 18:21] `, of every row that is a nudge.
fn nudges(rows: &[String]) -> Vec<&str> {
    let tagged = rows.iter().filter_map(|row| row.strip_prefix("[local "));
    tagged
        .map(|rest| rest.split_once("] ").map_or(rest, |(_, text)| text))
        .collect()
}

async fn looked_at(columns: usize, style: &str) -> anyhow::Result<String> {
    let home = Home::new()?;
    let watch = format!("{} watch --no-desktop", program("legation")?.display());
    let terminal = open(&home, columns, style).await?;
    terminal.enter("stty -echo; clear").await?;
    terminal.enter(&watch).await?;
    terminal
        .until_row("the greeting", |row| row.contains("watching the inbox"))
        .await?;
    for (number, (from, text, ..)) in MESSAGES.iter().enumerate() {
        home.post(&format!("m{number}"), from, text).await?;
    }
    let count = MESSAGES.len() as u64;
    until("the last nudge", PATIENCE, async || {
        home.cursor() == Some(count)
    })
    .await?;
    // What is written is on the screen a moment later.
    let mut rows = Vec::new();
    until("the last hint", PATIENCE, async || {
        rows = terminal.rows().await.unwrap_or_default();
        let hints = rows.iter().filter(|row| row.contains("→ tell your agent"));
        hints.count() == MESSAGES.len()
    })
    .await?;
    let wanted = MESSAGES.iter().map(|(_, _, wide, narrow)| match columns {
        80 => *wide,
        _ => *narrow,
    });
    assert_eq!(nudges(&rows), wanted.collect::<Vec<&str>>(), "{rows:#?}");
    // Each in one row, and the hint below it.
    let first = rows
        .iter()
        .position(|row| row.starts_with("[local "))
        .unwrap();
    for pair in rows[first..first + 2 * MESSAGES.len()].chunks(2) {
        assert!(pair[0].ends_with('"'), "{pair:?}");
        assert_eq!(pair[1], "  → tell your agent: check inbox");
    }
    let painted = terminal.tmux(&["capture-pane", "-p", "-e"]).await?;
    // It ends when it is told to, and leaves the terminal as it was.
    terminal.tmux(&["send-keys", "C-c"]).await?;
    terminal.enter("stty echo; echo back at $((6 * 7))").await?;
    terminal
        .until_row("the shell", |row| row.contains("back at 42"))
        .await?;
    // What was shown is not shown again.
    terminal.enter("clear").await?;
    terminal.enter(&watch).await?;
    terminal
        .until_row("the greeting", |row| row.contains("watching the inbox"))
        .await?;
    home.post("later", "Ada Example", "later").await?;
    terminal
        .until_row("the next nudge", |row| row.ends_with("\"later\""))
        .await?;
    assert_eq!(nudges(&terminal.rows().await?), ["Ada Example: \"later\""]);
    terminal.tmux(&["send-keys", "C-c"]).await?;
    Ok(painted)
}

/// The signs that colour a row, of the rows that are nudges and hints.
fn colours(painted: &str) -> Vec<&str> {
    let rows = painted
        .lines()
        .filter(|row| row.contains("[local ") || row.contains('→'));
    let signs = rows.flat_map(|row| row.split("\u{1b}[").skip(1));
    let mut signs: Vec<&str> = signs
        .filter_map(|sign| Some(sign.split_once('m')?.0))
        .flat_map(|sign| sign.split(';'))
        .collect();
    signs.sort_unstable();
    signs.dedup();
    signs
}

#[tokio::test]
async fn nudges_fit_a_wide_terminal_light_and_dark() -> anyhow::Result<()> {
    let (light, dark) = tokio::try_join!(
        looked_at(80, "fg=black,bg=white"),
        looked_at(80, "fg=white,bg=black")
    )?;
    for painted in [light, dark] {
        // Strong, faint, and one colour that is read on both: never a ground, black or white.
        let known = ["", "0", "1", "2", "22", "35", "39", "49"];
        let used = colours(&painted);
        assert!(used.contains(&"35") && used.contains(&"2"), "{used:?}");
        assert!(used.iter().all(|sign| known.contains(sign)), "{used:?}");
    }
    Ok(())
}

#[tokio::test]
async fn nudges_fit_a_narrow_terminal_light_and_dark() -> anyhow::Result<()> {
    let (light, dark) = tokio::try_join!(
        looked_at(40, "fg=black,bg=white"),
        looked_at(40, "fg=white,bg=black")
    )?;
    assert_eq!(colours(&light), colours(&dark));
    Ok(())
}

#[tokio::test]
async fn a_prompt_is_told_how_many_came_since() -> anyhow::Result<()> {
    let home = Home::new()?;
    home.post("m1", "Ada Example", "before anybody watched")
        .await?;
    let status = ["watch", "--status-line"];
    assert_eq!(home.run(&status).await?, "");
    // One that watches has a place from its start on.
    let mut watch = command(program("legation")?, &home.environment())
        .args(["watch", "--no-desktop", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()?;
    until("the place", PATIENCE, async || home.cursor() == Some(1)).await?;
    assert_eq!(home.run(&status).await?, "");
    watch.kill().await?;
    for id in ["m2", "m3"] {
        home.post(id, "Ada Example", "since").await?;
    }
    for _ in 0..2 {
        assert_eq!(home.run(&status).await?, "✉ 2\n", "a look changes nothing");
    }
    let json = home.run(&["watch", "--status-line", "--json"]).await?;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    assert_eq!(json["new"], 2);
    assert!(
        json["latest"]
            .as_str()
            .unwrap()
            .ends_with("Ada Example: \"since\"")
    );
    let other = home
        .run(&["watch", "--status-line", "--channel", "teams"])
        .await?;
    assert_eq!(other, "");
    // A reader that goes away ends it.
    let mut watch = command(program("legation")?, &home.environment())
        .args(["watch", "--no-desktop"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    drop(watch.stdout.take());
    let ended = tokio::time::timeout(PATIENCE, watch.wait()).await??;
    assert!(ended.success(), "{ended}");
    Ok(())
}
