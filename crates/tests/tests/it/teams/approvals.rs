//! What waits for a person, put to the human in Teams: who may answer, with what,
//! once; and what is on record of everything else.

use std::time::Duration;

use legation_tests::harness::asked::{ASKED, AskedHub, FREE, pending};
use legation_tests::harness::hub::HubOptions;
use legation_tests::harness::peer::{Peer, PeerEra, friendly};
use legation_tests::harness::process::until;
use serde_json::{Value, json};

use super::stand::Stand;

const PATIENCE: Duration = Duration::from_secs(120);
/// Between two looks that cost a process or a call.
const APART: Duration = Duration::from_millis(300);

/// A tenant, and a hub that asks its human.
struct Asked {
    stand: Stand,
    asked: AskedHub,
}

/// A card in the chat.
struct Card {
    chat: String,
    message: String,
    text: String,
    code: String,
}

impl Card {
    fn of(chat: &Value, message: &Value, text: String) -> Self {
        let code = match text.split_once("approve ") {
            Some((_, rest)) => rest.chars().take(6).collect(),
            None => String::new(),
        };
        let name = |value: &Value| value.as_str().unwrap().to_owned();
        Self {
            chat: name(chat),
            message: name(message),
            text,
            code,
        }
    }
}

impl Asked {
    async fn start() -> anyhow::Result<Self> {
        Self::start_with(Vec::new()).await
    }

    async fn start_with(governance: Vec<(&'static str, Value)>) -> anyhow::Result<Self> {
        let stand = Stand::new().await?;
        let options = stand.options();
        let options = HubOptions {
            settings: options.settings.replace(
                "[accounts.work]\n",
                "[accounts.work]\napprovals = \"teams\"\n",
            ),
            governance,
            ..options
        };
        let asked = AskedHub::start(options).await?;
        Ok(Self { stand, asked })
    }

    /// A client that nobody can be asked through.
    async fn peer(&self) -> anyhow::Result<Peer> {
        let hub = &self.asked.hub;
        hub.http(PeerEra::Modern, json!({}), friendly()).await
    }

    /// Makes a call that waits; its id.
    async fn waits(&self, peer: &Peer, arguments: &Value) -> anyhow::Result<String> {
        let answer = peer.call(ASKED, arguments.clone()).await?;
        pending(&answer).ok_or_else(|| anyhow::anyhow!("it does not wait: {}", answer.text))
    }

    /// The message whose card is about this.
    async fn found(&self, id: &str) -> Option<Card> {
        let chats = self.stand.order("chats", json!({})).await;
        for chat in chats.as_array().unwrap() {
            for message in chat["messages"].as_array().unwrap() {
                let text = message.to_string();
                if text.contains(&format!(" {id}")) && text.contains("AdaptiveCard") {
                    return Some(Card::of(&chat["id"], &message["id"], text));
                }
            }
        }
        None
    }

    /// The card of a question, once it is there.
    async fn card(&self, id: &str) -> anyhow::Result<Card> {
        until("the card", PATIENCE, async || {
            self.found(id).await.is_some()
        })
        .await?;
        Ok(self.found(id).await.unwrap())
    }

    /// A user of the tenant who is not in the chat.
    async fn someone_else(&self) -> String {
        let tenants = self.stand.order("tenants", json!({})).await;
        let mut tenants = tenants.as_array().unwrap().iter();
        let first = tenants.find(|one| one["name"] == "first").unwrap();
        let users = first["users"].as_array().unwrap().iter();
        let mut names = users.map(|user| user["userPrincipalName"].as_str().unwrap());
        let name = names.find(|name| name.to_lowercase().contains("blake"));
        name.unwrap().to_owned()
    }

    /// The card says how it ended.
    async fn says(&self, id: &str, words: &str) -> anyhow::Result<()> {
        until(words, PATIENCE, async || {
            let found = self.found(id).await;
            found.is_some_and(|card| card.text.contains(words) && card.code.is_empty())
        })
        .await
    }

    async fn records(&self, topic: &str) -> Vec<Value> {
        let query = ["audit", "query", "--topic", topic, "--json"];
        let text = self.asked.tell(&query).await.unwrap();
        let found: Value = serde_json::from_str(&text).unwrap();
        let records = found["records"].as_array().unwrap().iter();
        records.map(|one| one["record"].clone()).collect()
    }

    /// So often at least answers were refused for this reason: what was judged
    /// when a hub was killed may be judged anew.
    async fn refused(&self, reason: &str, times: usize) -> anyhow::Result<()> {
        until(reason, PATIENCE, async || {
            // tidy: a look costs a process or a call; it waits for what it looks for.
            tokio::time::sleep(APART).await;
            let all = self.records("APPROVAL_REPLY_REFUSED").await;
            let found = all.iter().filter(|one| one["governance_result"] == reason);
            found.count() >= times
        })
        .await
    }

    async fn listed(&self, id: &str) -> Value {
        let text = self.asked.tell(&["approvals", "--json"]).await.unwrap();
        let all: Value = serde_json::from_str(&text).unwrap();
        let mut waiting = all["waiting"].as_array().unwrap().iter();
        waiting
            .find(|one| one["id"] == id)
            .cloned()
            .unwrap_or_default()
    }

    /// Whether the call still waits under the same id.
    async fn still_waits(&self, peer: &Peer, arguments: &Value, id: &str) -> anyhow::Result<()> {
        assert_eq!(self.waits(peer, arguments).await?, id);
        assert_eq!(self.asked.executed(arguments)?, 0);
        Ok(())
    }

    /// The call goes through as soon as the answer was read.
    async fn goes_through(&self, peer: &Peer, arguments: &Value) -> anyhow::Result<()> {
        until("the call goes through", PATIENCE, async || {
            // tidy: a look costs a process or a call; it waits for what it looks for.
            tokio::time::sleep(APART).await;
            let answer = peer.call(ASKED, arguments.clone()).await.unwrap();
            pending(&answer).is_none()
        })
        .await?;
        assert_eq!(self.asked.executed(arguments)?, 1);
        Ok(())
    }
}

#[tokio::test]
async fn the_sponsor_answers_by_code_and_the_call_goes_through() -> anyhow::Result<()> {
    let asked = Asked::start().await?;
    let peer = asked.peer().await?;
    let arguments = json!({ "to": "Ada *Example*\u{202e}" });
    let id = asked.waits(&peer, &arguments).await?;
    let card = asked.card(&id).await?;
    let listed = asked.listed(&id).await;
    let digest = listed["short_digest"].as_str().unwrap();
    for words in [
        "asked/echo",
        digest,
        "somebody answers",
        "Ada *Example*",
        "u{202e}",
    ] {
        assert!(card.text.contains(words), "{words}: {}", card.text);
    }
    until("it is listed as sent", PATIENCE, async || {
        asked.listed(&id).await["posted"]["state"] == "sent"
    })
    .await?;
    let shown = asked.asked.tell(&["approvals", "show", &id]).await?;
    assert!(
        shown.contains(digest) && shown.contains("teams work (sent)"),
        "{shown}"
    );
    // A code names the question at the hub as well.
    let by_code = asked
        .asked
        .tell(&["approvals", "show", &card.code, "--json"])
        .await?;
    assert!(by_code.contains(&id), "{by_code}");

    let reply = format!("approve {}", card.code.to_lowercase());
    asked.stand.say(&card.chat, &reply).await;
    asked.goes_through(&peer, &arguments).await?;
    asked.says(&id, "You approved it here.").await?;
    let granted = asked.records("APPROVAL_GRANTED").await;
    assert_eq!(granted[0]["approval"], id.as_str(), "{granted:?}");
    assert!(
        granted[0].to_string().contains("once by teams"),
        "{granted:?}"
    );
    let posted = asked.records("APPROVAL_POSTED").await;
    assert_eq!(posted[0]["approval"], id.as_str(), "{posted:?}");
    assert_eq!(asked.asked.uses(&id).await?.len(), 1);

    let no = json!({ "to": "Bob Example" });
    let id = asked.waits(&peer, &no).await?;
    let card = asked.card(&id).await?;
    asked
        .stand
        .say(&card.chat, &format!("Deny {}.", card.code))
        .await;
    asked.says(&id, "You denied it here.").await?;
    let answer = peer.call(ASKED, no.clone()).await?;
    assert!(answer.text.contains("APPROVAL_DENIED"), "{}", answer.text);
    assert_eq!(asked.asked.executed(&no)?, 0);
    // No code is kept.
    let home = asked.asked.hub.home();
    let mut store = std::fs::read(home.join("state.db"))?;
    for beside in ["state.db-wal", "state.db-ledger"] {
        store.extend(std::fs::read(home.join(beside)).unwrap_or_default());
    }
    let has = |code: &str| {
        store
            .windows(code.len())
            .any(|part| part == code.as_bytes())
    };
    assert!(has(&id) && !has(&card.code));
    asked.stand.no_complaints().await;
    Ok(())
}

#[tokio::test]
async fn whoever_else_answers_and_whatever_else_is_said_is_refused_and_recorded()
-> anyhow::Result<()> {
    let asked = Asked::start().await?;
    let stand = &asked.stand;
    let peer = asked.peer().await?;
    let arguments = json!({ "n": 1 });
    let id = asked.waits(&peer, &arguments).await?;
    let card = asked.card(&id).await?;
    let approve = format!("approve {}", card.code);

    // The agent itself, by way of its own tool; it cannot change the card either.
    let text = json!({ "text": approve, "format": "text" });
    super::stand::done(&peer, "send", text).await?;
    let words = json!({ "message_id": card.message, "text": "Lunch?" });
    let (failed, answer) = super::stand::teams(&peer, "update", words).await?;
    assert!(failed && answer.to_string().contains("card of the hub's own"));
    asked.refused("REPLY_NOT_FROM_SPONSOR", 1).await?;
    // Somebody else.
    let stranger = json!({
        "chat_id": card.chat, "text": approve, "user": asked.someone_else().await, "stranger": true,
    });
    stand.order("say", stranger).await;
    asked.refused("REPLY_NOT_FROM_SPONSOR", 2).await?;
    // A message that became an answer; a yes with a condition; a wrong code.
    let hello = stand.say(&card.chat, "hello").await;
    let edit = json!({ "chat_id": card.chat, "message_id": hello, "text": approve });
    stand.order("edit", edit).await;
    stand
        .say(&card.chat, &format!("{approve} if the tests pass"))
        .await;
    stand.say(&card.chat, "approve 000000").await;
    asked.refused("REPLY_EDITED", 1).await?;
    asked.refused("REPLY_UNCLEAR", 1).await?;
    asked.refused("REPLY_WRONG_CODE", 1).await?;
    asked.still_waits(&peer, &arguments, &id).await?;
    until("the person is told", PATIENCE, async || {
        stand.count(&card.chat, "That did not count").await == 3
    })
    .await?;

    // The right one, and again.
    stand.say(&card.chat, &approve).await;
    asked.goes_through(&peer, &arguments).await?;
    stand.say(&card.chat, &approve).await;
    asked.refused("APPROVAL_USED", 1).await?;
    // Answered elsewhere meanwhile: the card says so, and its code is worth nothing.
    let elsewhere = json!({ "n": 2 });
    let id = asked.waits(&peer, &elsewhere).await?;
    let card = asked.card(&id).await?;
    asked.asked.tell(&["deny", &id]).await?;
    asked.says(&id, "It was answered elsewhere.").await?;
    stand
        .say(&card.chat, &format!("approve {}", card.code))
        .await;
    asked.refused("APPROVAL_USED", 2).await?;
    assert_eq!(asked.asked.executed(&elsewhere)?, 0);
    Ok(())
}

#[tokio::test]
async fn wrong_codes_lock_and_a_restart_unlocks_nothing() -> anyhow::Result<()> {
    let mut asked = Asked::start().await?;
    let peer = asked.peer().await?;
    let arguments = json!({ "n": 1 });
    let id = asked.waits(&peer, &arguments).await?;
    let card = asked.card(&id).await?;
    for number in 0..5 {
        asked
            .stand
            .say(&card.chat, &format!("approve 0000{number}0"))
            .await;
    }
    asked.refused("REPLY_WRONG_CODE", 5).await?;
    asked.asked.hub = asked.asked.hub.restart().await?;
    asked.asked.ready().await?;
    asked
        .stand
        .say(&card.chat, &format!("approve {}", card.code))
        .await;
    asked.refused("REPLY_LOCKED", 1).await?;
    let peer = asked.peer().await?;
    asked.still_waits(&peer, &arguments, &id).await?;
    Ok(())
}

#[tokio::test]
async fn a_question_outlives_the_hub_and_is_put_once() -> anyhow::Result<()> {
    let mut asked = Asked::start().await?;
    let peer = asked.peer().await?;
    let arguments = json!({ "n": 1 });
    let id = asked.waits(&peer, &arguments).await?;
    let card = asked.card(&id).await?;
    asked.asked.hub = asked.asked.hub.restart().await?;
    asked.asked.ready().await?;
    asked
        .stand
        .say(&card.chat, &format!("approve {}", card.code))
        .await;
    let peer = asked.peer().await?;
    asked.goes_through(&peer, &arguments).await?;
    asked.says(&id, "You approved it here.").await?;
    assert_eq!(asked.stand.count(&card.chat, &format!(" {id}")).await, 1);
    Ok(())
}

#[tokio::test]
async fn a_reply_of_the_sponsors_certifies_a_proposal() -> anyhow::Result<()> {
    let ladder = json!({ "action_categories": [{
        "action": "Change things", "mode": "propose_certify_apply", "tools": ["free/wait"],
    }] });
    let asked = Asked::start_with(vec![("autonomy_ladder.json", ladder)]).await?;
    let peer = asked.peer().await?;
    let arguments = json!({ "seconds": 0 });
    let answer = peer.call(FREE, arguments.clone()).await?;
    let data = &answer.value["result"]["structuredContent"];
    assert_eq!(
        data["reason_code"], "CERTIFICATION_REQUIRED",
        "{}",
        answer.text
    );
    let id = data["approval_id"].as_str().unwrap();
    let card = asked.card(id).await?;
    // A command of the owner's is no proof of a person, by id or by code.
    for name in [id, &card.code] {
        let (code, ..) = asked.asked.hub.run(&["approve", name]).await?;
        assert_ne!(code, 0, "{name}");
    }
    asked
        .stand
        .say(&card.chat, &format!("approve {}", card.code))
        .await;
    asked.says(id, "You approved it here.").await?;
    let certified = asked.records("PROPOSAL_CERTIFIED").await;
    assert!(
        certified[0].to_string().contains("teams-reply"),
        "{certified:?}"
    );
    peer.call(FREE, arguments.clone()).await?.result()?;
    assert_eq!(asked.asked.executed(&arguments)?, 1);
    Ok(())
}

#[tokio::test]
async fn an_answer_long_after_is_late() -> anyhow::Result<()> {
    let mut asked = Asked::start().await?;
    let peer = asked.peer().await?;
    let arguments = json!({ "n": 1 });
    let id = asked.waits(&peer, &arguments).await?;
    let card = asked.card(&id).await?;
    // It is a day later there, and here nobody has noticed. A hub that runs holds
    // tokens for which that is too late too; a new one signs in anew.
    let day = json!({ "seconds": 25 * 3600 });
    asked.stand.order("skew", day).await;
    let approve = format!("approve {}", card.code);
    asked.stand.say(&card.chat, &approve).await;
    asked.asked.hub = asked.asked.hub.restart().await?;
    asked.asked.ready().await?;
    asked.refused("APPROVAL_EXPIRED", 1).await?;
    let peer = asked.peer().await?;
    asked.still_waits(&peer, &arguments, &id).await?;
    Ok(())
}
