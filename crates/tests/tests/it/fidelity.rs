//! What an upstream says comes out as it went in: generated results with
//! vendor fields, unknown content types, 64-bit integers and exotic text, for
//! every pair of eras.
//!
//! A failure prints the seed; `LEGATION_TEST_SEED` repeats it.

use legation_tests::fixture::Era;
use legation_tests::harness::hub::{Hub, HubOptions};
use legation_tests::harness::node::Node;
use legation_tests::harness::peer::{Peer, PeerEra, everything, friendly};
use legation_tests::harness::random::{self, Random};
use legation_tests::harness::servers::stdio_entry;
use serde_json::json;

const ROUNDS: u32 = 150;

const STRINGS: [&str; 16] = [
    r#""""#,
    r#""plain""#,
    r#""\u0000\u0001\u001f""#,
    r#""\ud83e\udd80 crab""#,
    "\"\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}\"",
    "\"\u{202e}right to left\u{202c}\"",
    "\"e\u{301}\u{323} combining\"",
    "\"\u{feff}mark\u{ffff}\u{10ffff}\"",
    r#""\"\\\/\b\f\n\r\t""#,
    "\"\u{2028}\u{2029}\u{85}\"",
    "\"日本語 العربية עברית हिन्दी\"",
    r#""</script><!--""#,
    r#""=?base64?SGVsbG8=?=""#,
    r#""input_required""#,
    r#""io.modelcontextprotocol/related-task""#,
    "\"\u{7f}\u{a0}\u{200b}\"",
];
const NUMBERS: [&str; 14] = [
    "0",
    "-0",
    "-0.0",
    "1.50",
    "1e2",
    "1E+2",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.1",
    "3.141592653589793238462643383279",
    "1e308",
    "123456789012345678901234567890",
];
const KEYS: [&str; 10] = [
    r#""x-vendor""#,
    r#""""#,
    r#""a b""#,
    "\"ключ\"",
    r#""\u00e9""#,
    r#""type2""#,
    r#""__proto__""#,
    r#""constructor""#,
    "\"\u{1f511}\"",
    r#""com.example/deep""#,
];

fn value(random: &mut Random, depth: usize) -> String {
    match random.below(if depth == 0 { 4 } else { 6 }) {
        0 => random.pick(&["true", "false", "null"]).to_owned(),
        1 | 2 => random.pick(&STRINGS).to_owned(),
        3 => random.pick(&NUMBERS).to_owned(),
        4 => {
            let count = random.below(4);
            let elements: Vec<_> = (0..count).map(|_| value(random, depth - 1)).collect();
            format!("[{}]", elements.join(", "))
        }
        _ => object(random, depth, &[]),
    }
}

/// An object whose keys differ, after the members that are given.
fn object(random: &mut Random, depth: usize, given: &[String]) -> String {
    let mut members = given.to_vec();
    let first = random.below(KEYS.len());
    for offset in 0..random.below(4) {
        let key = KEYS[(first + offset) % KEYS.len()];
        members.push(format!("{key}: {}", value(random, depth.saturating_sub(1))));
    }
    format!("{{{}}}", members.join(" , "))
}

fn block(random: &mut Random) -> String {
    let text = random.pick(&STRINGS);
    let given = match random.below(4) {
        0 => vec![r#""type":"text""#.to_owned(), format!(r#""text": {text}"#)],
        1 => vec![
            r#""type": "image""#.to_owned(),
            r#""data":"AAAA""#.to_owned(),
            r#""mimeType":"image/x-vendor""#.to_owned(),
        ],
        2 => vec![
            r#""type": "com.example/unknown""#.to_owned(),
            format!(r#""payload": {}"#, value(random, 3)),
        ],
        _ => vec![
            r#""type":"resource""#.to_owned(),
            format!(
                r#""resource":{{"uri":"test://x","text":{text},"x-kept":{}}}"#,
                value(random, 2)
            ),
        ],
    };
    object(random, 3, &given)
}

fn result(random: &mut Random, modern: bool) -> String {
    let count = random.below(4);
    let blocks: Vec<_> = (0..count).map(|_| block(random)).collect();
    let mut given = vec![format!(r#""content": [{}]"#, blocks.join(","))];
    if random.below(2) == 0 {
        given.push(format!(
            r#""structuredContent": {}"#,
            object(random, 4, &[])
        ));
    }
    if random.below(2) == 0 {
        given.push(format!(
            r#""_meta": {{"com.example/trace": {}}}"#,
            value(random, 2)
        ));
    }
    if random.below(3) == 0 {
        given.push(r#""isError": false"#.to_owned());
    }
    if modern && random.below(2) == 0 {
        given.insert(0, r#""resultType":"complete""#.to_owned());
    }
    object(random, 3, &given)
}

async fn same(peer: &Peer, server: &str, random: &mut Random) -> anyhow::Result<()> {
    for round in 0..ROUNDS {
        let raw = result(random, server == "new");
        let answer = peer
            .call(&format!("{server}-fidelity"), json!({"raw": raw}))
            .await?;
        let whole = Node::parse(&answer.text)?;
        let Some(mut found) = whole.get("result").cloned() else {
            anyhow::bail!("round {round}: {} for {raw}", answer.text);
        };
        let mut expected = Node::parse(&raw)?;
        for node in [&mut found, &mut expected] {
            node.strip_meta(&|key| key.starts_with("io.legation/"));
            node.remove(|member| member == "resultType");
        }
        anyhow::ensure!(
            found == expected,
            "round {round}:\nsent {raw}\ngot  {}",
            answer.text
        );
    }
    Ok(())
}

#[tokio::test]
async fn results_come_out_as_they_went_in() -> anyhow::Result<()> {
    let mut servers = json!({
        "old": stdio_entry(Era::Legacy, "shared")?,
        "new": stdio_entry(Era::Modern, "shared")?,
    });
    for name in ["old", "new"] {
        // What hidden characters are filtered for is not what is tested here.
        servers[name]["filterMapping"] = json!("none");
    }
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    let seed = random::seed();
    println!("LEGATION_TEST_SEED={seed}");
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        let peers = [
            hub.http(era, everything(), friendly()).await?,
            hub.socket_peer(era, everything(), friendly()).await?,
        ];
        for peer in peers {
            for server in ["old", "new"] {
                hub.wait_for_tool(&peer, &format!("{server}-fidelity"))
                    .await?;
                let mut random = Random::new(seed);
                let outcome = same(&peer, server, &mut random).await;
                assert!(
                    outcome.is_ok(),
                    "seed {seed}, {era:?} client, {server} server: {:#}",
                    outcome.unwrap_err()
                );
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn definitions_keep_vendor_fields() -> anyhow::Result<()> {
    let servers = json!({"old": stdio_entry(Era::Legacy, "shared")?, "new": stdio_entry(Era::Modern, "shared")?});
    let hub = Hub::start(HubOptions {
        servers,
        ..HubOptions::default()
    })
    .await?;
    for era in [PeerEra::Legacy, PeerEra::Modern] {
        let peer = hub.http(era, everything(), friendly()).await?;
        for server in ["old", "new"] {
            let name = format!("{server}-echo");
            hub.wait_for_tool(&peer, &name).await?;
            let tools = peer.list("tools/list", "tools").await?;
            let echo = tools.iter().find(|tool| tool["name"] == name).unwrap();
            assert_eq!(echo["title"], "Echo");
            assert_eq!(echo["annotations"]["x-vendor-hint"], "kept");
            assert_eq!(
                echo["_meta"]["com.example/origin"]["sequence"],
                9_007_199_254_740_993_i64
            );
            assert_eq!(echo["x-vendor-field"], json!(["kept", 1, null]));
        }
    }
    Ok(())
}
