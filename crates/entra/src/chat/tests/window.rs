//! A chat in which more was written than is read at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use legation_core::Wall;
use serde_json::{Value, json};

use super::{agent, wire};
use crate::chat::{Change, Chats, News, Seen, Width};
use crate::test_kit::{Answer, Asked, Stand, ctx};

const START: i64 = 1_790_000_000_000;

/// A chat as Graph lists it: from its end, fifty at once, between two times.
#[derive(Default)]
struct Listing {
    /// Times of writing and of the last change, by number.
    messages: BTreeMap<usize, (i64, i64)>,
    requests: usize,
    /// Done before the request of that number: the message is changed then.
    reactions: Vec<(usize, usize, i64)>,
}

// === impl Listing ===

impl Listing {
    fn answer(&mut self, asked: &Asked) -> Value {
        self.requests += 1;
        let now = self.requests;
        for (_, number, at) in self.reactions.iter().filter(|(when, ..)| *when == now) {
            self.messages.get_mut(number).unwrap().1 = *at;
        }
        let query = asked.target.split_once('?').unwrap().1;
        let of = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let filter = of("$filter").unwrap();
        let time = |operator: &str| {
            let after = filter.split_once(&format!("{operator}%20"))?.1;
            let text = after.split("%20").next()?.replace("%3A", ":");
            Some(Wall::parse(&text).unwrap().0)
        };
        let (after, before) = (time("gt").unwrap(), time("lt").unwrap_or(i64::MAX));
        let mut found: Vec<(usize, i64, i64)> = self
            .messages
            .iter()
            .filter(|(_, (_, modified))| *modified > after && *modified < before)
            .map(|(number, (created, modified))| (*number, *created, *modified))
            .collect();
        found.sort_by_key(|(_, _, modified)| std::cmp::Reverse(*modified));
        let skip: usize = of("$skiptoken").map_or(0, |text| text.parse().unwrap());
        let page = found.iter().skip(skip).take(50);
        let value = page.map(|(number, created, modified)| {
            let text = Wall(*created).to_string();
            let mut one = wire(&number.to_string(), &modified.to_string(), &text, "u", "x");
            one["lastModifiedDateTime"] = Wall(*modified).to_string().into();
            one
        });
        let value: Vec<Value> = value.collect();
        let mut answer = json!({ "value": value });
        if found.len() > skip + 50 {
            let host = asked.header("host").unwrap();
            let link = asked.target.split("&$skiptoken").next().unwrap();
            let link = format!("https://{host}{link}&$skiptoken={}", skip + 50);
            answer["@odata.nextLink"] = link.into();
        }
        answer
    }
}

async fn chats(listing: Listing) -> (Stand, Chats, Arc<Mutex<Listing>>) {
    let listing = Arc::new(Mutex::new(listing));
    let served = Arc::clone(&listing);
    let stand = Stand::new(move |asked: &Asked| {
        if asked.target.contains("/oauth2/") {
            let payload = crate::base::base64url(br#"{"oid":"me"}"#);
            let token = format!("e30.{payload}.x");
            let body = json!({ "token_type": "Bearer", "expires_in": 3600, "access_token": token });
            return Answer::json(200, &body);
        }
        Answer::json(200, &served.lock().unwrap().answer(asked))
    })
    .await;
    let chats = stand.account(agent).chats();
    (stand, chats, listing)
}

/// Everything that is new, window by window, as whoever keeps it reads it.
async fn read_all(chats: &Chats, seen: &mut Seen) -> (Vec<News>, usize) {
    let (mut all, mut windows, mut width) = (Vec::new(), 0, Width::default());
    loop {
        let since = seen.since().unwrap();
        let context = ctx();
        let window = chats.window(&context, "19:c", since, &mut width);
        let window = window.await.unwrap();
        let times: Vec<_> = window.messages.iter().map(|one| one.modified).collect();
        assert!(times.is_sorted(), "oldest first");
        windows += 1;
        let until = window.until;
        all.extend(seen.take_window(window.messages, until));
        if until.is_none() {
            return (all, windows);
        }
    }
}

fn numbers(news: &[News]) -> Vec<usize> {
    let ids = news.iter().map(|one| one.message.id.parse().unwrap());
    ids.collect()
}

#[tokio::test]
async fn a_long_absence_is_caught_up_with_in_windows_oldest_first() {
    // Slowly, then in a burst, then slowly again.
    let mut at = START;
    let mut messages = BTreeMap::new();
    for number in 0..2_600 {
        at += if (500..2_400).contains(&number) {
            7
        } else {
            600_000
        };
        messages.insert(number, (at, at));
    }
    let (_stand, chats, listing) = chats(Listing {
        messages,
        ..Listing::default()
    })
    .await;
    let mut seen = Seen::begin(Wall(START));
    let (news, windows) = read_all(&chats, &mut seen).await;
    assert_eq!(numbers(&news), (0..2_600).collect::<Vec<_>>());
    assert!(news.iter().all(|one| one.change == Change::New));
    assert!(windows > 5, "{windows}");
    // 52 pages hold them; what was read in vain is bounded.
    let requests = listing.lock().unwrap().requests;
    assert!(requests < 250, "{requests}");
    assert_eq!((seen.until, seen.read_to), (Some(Wall(at)), None));
    assert!(seen.recent.len() <= 1, "the rest is past");
    let (again, windows) = read_all(&chats, &mut seen).await;
    assert_eq!((again, windows), (Vec::new(), 1));
}

#[tokio::test]
async fn what_is_reacted_to_while_it_is_caught_up_with_comes_once() {
    let messages = (0..2_100).map(|number| {
        let at = START + 1_000 + i64::try_from(number).unwrap() * 1_000;
        (number, (at, at))
    });
    let now = START + 10_000_000;
    let mut listing = Listing {
        messages: messages.collect(),
        ..Listing::default()
    };
    // An old message that nobody saw is none of ours, whatever is done to it.
    listing.messages.insert(9_999, (START - 900_000, now - 7));
    // The second was read by then, the others not.
    listing.reactions = vec![
        (3, 1, now),
        (60, 2, now + 1),
        (60, 2_000, now + 2),
        (70, 2, now + 3),
    ];
    let (_stand, chats, listing) = chats(listing).await;
    let mut seen = Seen::begin(Wall(START));
    let (news, _) = read_all(&chats, &mut seen).await;
    assert!(listing.lock().unwrap().requests > 70, "all of it happened");
    let mut came = numbers(&news);
    came.sort_unstable();
    assert_eq!(came, (0..2_100).collect::<Vec<_>>(), "each once");
    assert!(news.iter().all(|one| one.change == Change::New));
}

#[tokio::test]
async fn a_window_that_was_kept_is_gone_on_from_after_a_restart() {
    let messages = (0..1_500).map(|number| {
        let at = START + 1_000 + i64::try_from(number).unwrap() * 1_000;
        (number, (at, at))
    });
    let listing = Listing {
        messages: messages.collect(),
        ..Listing::default()
    };
    let (_stand, chats, _) = chats(listing).await;
    let mut seen = Seen::begin(Wall(START));
    let mut all = Vec::new();
    for _ in 0..2 {
        let since = seen.since().unwrap();
        // Nobody remembers how wide the last window was.
        let (context, mut width) = (ctx(), Width::default());
        let window = chats.window(&context, "19:c", since, &mut width);
        let window = window.await.unwrap();
        assert!(window.until.is_some());
        all.extend(seen.take_window(window.messages, window.until));
    }
    let (rest, _) = read_all(&chats, &mut seen).await;
    all.extend(rest);
    assert_eq!(numbers(&all), (0..1_500).collect::<Vec<_>>());
}
