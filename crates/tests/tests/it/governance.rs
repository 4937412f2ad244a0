//! What the business template lets real clients do, and what it does not: each
//! case with its opposite, over HTTP and over stdio.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use anyhow::Context;
use legation_tests::harness::governance::lay_over;
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use crate::business::{Business, code};

const ERAS: [PeerEra; 2] = [PeerEra::Legacy, PeerEra::Modern];

/// Calls, and compares how each went: tool, arguments, reason code or nothing.
async fn expect(peer: &Peer, cases: &[(&str, Value, &str)]) -> anyhow::Result<()> {
    for (tool, arguments, wanted) in cases {
        let answer = peer.call(tool, arguments.clone()).await?;
        assert_eq!(
            code(&answer),
            *wanted,
            "{tool} {arguments}: {}",
            answer.text
        );
    }
    Ok(())
}

#[tokio::test]
async fn each_client_reaches_the_entities_it_is_cleared_for() -> anyhow::Result<()> {
    let business = Business::start().await?;
    for (id, era) in [("codex", PeerEra::Legacy), ("claude", PeerEra::Modern)] {
        let agent = business.client(id, era).await?;
        let cases = [
            ("meadow-notes-read", json!({"id": 1}), "CLIENT_NOT_CLEARED"),
            (
                "broker-read",
                json!({"profile_id": "meadow-m365"}),
                "CLIENT_NOT_CLEARED",
            ),
            (
                "broker-read",
                json!({"deep": [{"entity_id": "meadow"}]}),
                "CLIENT_NOT_CLEARED",
            ),
            (
                "broker-read",
                json!({"entity": "all"}),
                "CROSS_ENTITY_BLOCK",
            ),
            ("broker-read", json!({"entity": "nobody"}), "UNKNOWN_ENTITY"),
            (
                "broker-read",
                json!({"entity": "h\u{430}rbor"}),
                "ENTITY_LOOK_ALIKE",
            ),
            (
                "broker-read",
                json!({"\u{435}ntity": "harbor"}),
                "ENTITY_LOOK_ALIKE",
            ),
            ("lost-free", json!({}), "UNKNOWN_ENTITY"),
            (
                "harbor-mail-read",
                json!({"profile_id": "meadow-m365"}),
                "CROSS_ENTITY_BLOCK",
            ),
            ("harbor-mail-read", json!({"profile_id": "harbor-m365"}), ""),
            ("harbor-mail-read", json!({"id": 1}), ""),
            ("broker-read", json!({"entity": "harbor"}), ""),
            ("broker-read", json!({"entity": "quarry"}), ""),
        ];
        expect(&agent, &cases).await?;
    }
    let care = business.client("meadow-agent", PeerEra::Modern).await?;
    let cases = [
        ("harbor-mail-read", json!({"id": 1}), "CLIENT_NOT_CLEARED"),
        ("meadow-notes-read", json!({"id": 1}), ""),
    ];
    expect(&care, &cases).await?;
    Ok(())
}

#[tokio::test]
async fn what_one_call_brought_is_kept_from_the_next() -> anyhow::Result<()> {
    let business = Business::start().await?;
    for era in ERAS {
        // Each bridge is a conversation of its own.
        let mixed = business.bridge("desk-agent", era).await?;
        let cases = [
            ("harbor-mail-read", json!({}), ""),
            ("meadow-notes-read", json!({}), "CROSS_ENTITY_BLOCK"),
            (
                "broker-read",
                json!({"entity": "meadow"}),
                "CROSS_ENTITY_BLOCK",
            ),
            ("quarry-books-read", json!({}), ""),
            ("harbor-mail-read", json!({}), ""),
            ("hub-servers", json!({}), ""),
        ];
        expect(&mixed, &cases).await?;
        let other = business.bridge("desk-agent", era).await?;
        let cases = [
            ("meadow-notes-read", json!({}), ""),
            ("quarry-books-read", json!({}), "CROSS_ENTITY_BLOCK"),
            ("harbor-mail-read", json!({}), "CROSS_ENTITY_BLOCK"),
            ("meadow-notes-read", json!({}), ""),
        ];
        expect(&other, &cases).await?;
    }
    // Over HTTP the credential is the conversation, until its owner resets it.
    let owner = business.owner().await?;
    let kept = [
        ("meadow-notes-read", json!({}), ""),
        ("harbor-mail-read", json!({}), "CROSS_ENTITY_BLOCK"),
    ];
    expect(&owner, &kept).await?;
    let (done, out, complaint) = business
        .hub
        .run(&["approvals", "--reset-labels", "owner"])
        .await?;
    assert_eq!(done, 0, "{out}{complaint}");
    expect(&owner, &[("harbor-mail-read", json!({}), "")]).await
}

#[tokio::test]
async fn a_refusal_names_no_other_company() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let agent = business.client("copilot", PeerEra::Modern).await?;
    agent.call("harbor-mail-read", json!({})).await?.result()?;
    for (tool, arguments) in [
        (
            "broker-read",
            json!({"profile_id": "jordan@meadow.example.com"}),
        ),
        ("broker-read", json!({"entity": "all"})),
        ("broker-read", json!({"note": "about a care plan"})),
        (
            "harbor-mail-send",
            json!({"to": ["intake@meadow.example.com"]}),
        ),
    ] {
        let answer = agent.call(tool, arguments.clone()).await?;
        assert_ne!(code(&answer), "", "{tool} {arguments}");
        let told = answer.text.to_lowercase();
        for name in ["meadow", "quarry", "personal", "care homes"] {
            assert!(!told.contains(name), "{name}: {told}");
        }
    }
    let tools = agent.list("tools/list", "tools").await?;
    let seen = |server: &str| {
        let shows = |tool: &Value| {
            tool["name"]
                .as_str()
                .is_some_and(|name| name.starts_with(server))
        };
        tools.iter().any(shows)
    };
    assert!(
        seen("harbor-mail-") && !seen("harbor-mail-burn"),
        "{tools:?}"
    );
    Ok(())
}

#[tokio::test]
async fn mail_stays_with_its_company_and_nobody_trades() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let cases = [
        (
            "harbor-mail-send",
            json!({"to": ["intake@meadow.example.com"]}),
            "CROSS_ENTITY_BLOCK",
        ),
        (
            "harbor-mail-send",
            json!({"to": ["x@nobody.example.org"]}),
            "HARD_BAN_VIOLATION",
        ),
        (
            "harbor-mail-send",
            json!({"to": ["jordan@harbor.example.com"], "cc": ["x@nobody.example.org"]}),
            "HARD_BAN_VIOLATION",
        ),
        (
            "harbor-mail-send",
            json!({"to": ["jordan@harbor.example.com"]}),
            "",
        ),
        (
            "harbor-mail-send",
            json!({"to": ["partner@counsel.example.net"]}),
            "",
        ),
        ("broker-execute_trade", json!({}), "HARD_BAN_VIOLATION"),
        ("broker-read", json!({}), ""),
    ];
    for era in ERAS {
        expect(&business.client("claude", era).await?, &cases).await?;
        let bridge = business.bridge("claude", era).await?;
        expect(&bridge, &cases).await?;
    }
    assert_eq!(business.calls("broker").await?, 4);
    Ok(())
}

#[tokio::test]
async fn health_information_reaches_only_who_is_cleared_for_it() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let note = "Resident Avery Placeholder, SSN 219-09-9999, room 204";
    std::fs::write(business.script.with_extension("note"), note)?;
    for era in ERAS {
        let http = business.client("summer", era).await?;
        let bridge = business.bridge("summer", era).await?;
        for peer in [&http, &bridge] {
            let answer = peer.call("meadow-notes-read_note", json!({})).await?;
            assert!(!answer.text.contains("219-09-9999"), "{}", answer.text);
            assert!(!answer.text.contains("Avery"), "{}", answer.text);
        }
        let cleared = business.client("meadow-agent", era).await?;
        let answer = cleared.call("meadow-notes-read_note", json!({})).await?;
        assert!(answer.text.contains("219-09-9999"), "{}", answer.text);
        // What an agent writes itself is no better for who wrote it.
        let sent = json!({"to": ["intake@meadow.example.com"], "body": note});
        expect(
            &cleared,
            &[("meadow-notes-send", sent, "HARD_BAN_VIOLATION")],
        )
        .await?;
        let plain = json!({"to": ["intake@meadow.example.com"], "body": "The room is ready."});
        expect(&cleared, &[("meadow-notes-send", plain, "")]).await?;
    }
    Ok(())
}

#[tokio::test]
async fn every_mode_of_the_ladder_holds() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let inner = |tool: &str| json!({"name": format!("harbor-mail-{tool}"), "arguments": {"a": 1}});
    let modes = [
        ("free", ""),
        ("draft", "APPROVAL_PENDING"),
        ("file", "CERTIFICATION_REQUIRED"),
        ("stopped", "LADDER_BLOCKED"),
        ("burn", "LADDER_NEVER"),
        // Nothing lists it, so the default mode holds.
        ("test_simple_text", "APPROVAL_PENDING"),
    ];
    for era in ERAS {
        let http = business.client("claude", era).await?;
        let bridge = business.bridge("claude", era).await?;
        for peer in [&http, &bridge] {
            for (tool, wanted) in modes {
                let name = format!("harbor-mail-{tool}");
                expect(peer, &[(&name, json!({"a": 1}), wanted)]).await?;
                // Inside another call it is the same call.
                expect(peer, &[("hub-call_tool", inner(tool), wanted)]).await?;
            }
        }
    }
    assert_eq!(business.calls("harbor-mail").await?, 8);
    Ok(())
}

#[tokio::test]
async fn a_file_that_breaks_denies_and_says_so() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let owner = business.owner().await?;
    let folder = business.hub.home().join("governance");
    let names = [
        "operator_profile.json",
        "role_cards.json",
        "hard_bans.json",
        "autonomy_ladder.json",
        "permissions.toml",
        "policy.cedar",
    ];
    let free = async || {
        let answer = owner.call("harbor-mail-free", json!({})).await;
        answer.map_or_else(|error| error.to_string(), |answer| code(&answer))
    };
    for name in names {
        let path = folder.join(name);
        let good = std::fs::read(&path)?;
        let faults: &[_] = match name {
            "hard_bans.json" => &["removed", "broken", "writable", "linked"],
            _ => &["removed"],
        };
        for fault in faults {
            match *fault {
                "removed" => std::fs::remove_file(&path)?,
                "broken" => std::fs::write(&path, "{\"a\": [")?,
                "writable" => {
                    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666))?;
                }
                _ => {
                    let elsewhere = business.hub.folder().join("elsewhere");
                    std::fs::rename(&path, &elsewhere)?;
                    std::os::unix::fs::symlink(&elsewhere, &path)?;
                }
            }
            let what = format!("{name} {fault} to deny");
            let denied = until(&what, Duration::from_secs(10), async || {
                free().await == "GOVERNANCE_UNAVAILABLE"
            })
            .await;
            denied.with_context(|| format!("{:?}", business.hub.said()))?;
            let (code, out, complaint) = business.hub.run(&["governance", "check"]).await?;
            assert_ne!(code, 0, "{what}: {out}");
            assert!(
                format!("{out}{complaint}").contains(name),
                "{what}: {out}{complaint}"
            );
            if path.exists() || path.is_symlink() {
                std::fs::remove_file(&path)?;
            }
            let partial = folder.join("partial");
            std::fs::write(&partial, &good)?;
            std::fs::set_permissions(&partial, PermissionsExt::from_mode(0o600))?;
            std::fs::rename(&partial, &path)?;
            until(
                "the file to count again",
                Duration::from_secs(10),
                async || free().await.is_empty(),
            )
            .await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_key_that_nobody_knows_denies_and_a_comment_does_not() -> anyhow::Result<()> {
    let business = Business::start().await?;
    let owner = business.owner().await?;
    let folder = business.hub.home().join("governance");
    let free = async || {
        let answer = owner.call("harbor-mail-free", json!({})).await;
        answer.map_or_else(|error| error.to_string(), |answer| code(&answer))
    };
    // A key nobody knows is a slip that must not go unseen; a comment is none.
    let ladder = folder.join("autonomy_ladder.json");
    lay_over(&ladder, &json!({"_note": "kept"}))?;
    let profile = folder.join("operator_profile.json");
    lay_over(
        &profile,
        &json!({"default_client_clearance": {"entities": ["harbor"]}}),
    )?;
    let local = business
        .hub
        .bridge(PeerEra::Modern, json!({}), friendly())
        .await?;
    until("both files to count", Duration::from_secs(10), async || {
        let answer = local.call("harbor-mail-free", json!({})).await;
        answer.is_ok_and(|answer| code(&answer) == "ROLE_CARD_BLOCK")
    })
    .await?;
    assert_eq!(free().await, "");
    let (done, out, complaint) = business.hub.run(&["governance", "check"]).await?;
    assert_eq!(done, 0, "{out}{complaint}");
    lay_over(&ladder, &json!({"defualt_mode": "blocked"}))?;
    until(
        "an unknown key to deny",
        Duration::from_secs(10),
        async || free().await == "GOVERNANCE_UNAVAILABLE",
    )
    .await
}
