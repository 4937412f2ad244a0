//! Conversations, as an engine would have them: every message knows whose data
//! it holds, and a request holds the data of all of them.

use std::sync::Arc;

use legation_core::{
    Caller, Cancel, ClientId, EntityId, EntityLabels, OpContext, Principal, SeatId, SystemClock,
    Via,
};
use legation_models::{
    CallResult, ChatRequest, Delta, Keys, Limits, Message, Meter, ModelAsk, ModelClient, Models,
    NoBook, Router, ToolCall, Turn,
};

use crate::gate::Hub;
use crate::rules::{ENTITIES, JOBS, PROVIDERS, Rules};
use crate::server;
use crate::world::{CANARIES, PERSON, World};

/// Reproducible choices (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

/// A message and whose data it holds.
#[derive(Clone)]
struct Said {
    message: Message,
    labels: EntityLabels,
}

struct Talk<'a> {
    models: &'a Models,
    world: &'a World,
    dice: Dice,
    name: String,
    said: Vec<Said>,
}

// === impl Dice ===

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn of(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let drawn = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(drawn).unwrap_or_default() % bound
    }
}

/// So many conversations, one after the other.
pub(crate) fn campaign(count: usize, seed: u64) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let mut dice = Dice::new(seed);
        let rules = Rules::drawn(&mut dice);
        let world = World::new(rules.clone(), dice.clone());
        let mut ports = Vec::new();
        for provider in 0..PROVIDERS.len() {
            ports.push(server::start(provider, Arc::clone(&world)).await);
        }
        let hub = Hub::new(rules.policy(&ports), "tester");
        world.open(&hub.gate, &ports);
        let keys = Keys::new(|_| None, || panic!("nobody needs a keystore"));
        let clock = SystemClock::shared();
        let meter = Meter::new(Arc::new(NoBook), Arc::clone(&clock));
        let client = ModelClient::new(clock, Limits::default());
        let router = Router::new(client, keys, Arc::new(meter));
        let models = Models::new(Arc::downgrade(&hub.gate), router);
        for number in 0..count {
            let mut talk = Talk {
                models: &models,
                world: &world,
                dice: Dice::new(seed.wrapping_add(1 + number as u64)),
                name: format!("c{number}"),
                said: Vec::new(),
            };
            talk.run().await?;
            if world.is_wrong() {
                break;
            }
            if number % 12 == 11 {
                world.change();
            }
        }
        let told = world.told(count)?;
        sealed(&hub, count)?;
        let records = hub.records().await;
        let kinds = |kind: &str| {
            let word = format!(r#""kind":"{kind}""#);
            records.iter().filter(|text| text.contains(&word)).count()
        };
        if records.len() < 100_000 && kinds("intent") != kinds("outcome") {
            return Err("a request has no outcome on record".to_owned());
        }
        for text in &records {
            let mut words = CANARIES.iter().chain([&PERSON, &"Placeholder"]);
            if words.any(|word| text.contains(word)) {
                return Err(format!("a record holds what was said: {text}"));
            }
        }
        Ok(told)
    })
}

// === impl Talk ===

impl Talk<'_> {
    async fn run(&mut self) -> Result<(), String> {
        for turn in 0..2 + self.dice.of(4) {
            self.hear();
            if self.dice.of(5) == 0 {
                self.compact();
            }
            self.world.about(format!("{} turn {turn}", self.name));
            self.ask().await?;
        }
        Ok(())
    }

    /// Something is said, of nobody, one entity or two.
    fn hear(&mut self) {
        let mut entities = Vec::new();
        for _ in 0..self.dice.of(3) {
            let entity = self.dice.of(ENTITIES.len());
            // Health information is rarer, or nothing would ever reach others.
            if entity > 0 || self.dice.of(2) == 0 {
                entities.push(entity);
            }
        }
        let mut text = "Please read the note".to_owned();
        for entity in &entities {
            text.push_str(&format!(" about {}", CANARIES[*entity]));
            if *entity == 0 {
                text.push_str(&format!(" of {PERSON}"));
            }
        }
        let labels: EntityLabels = entities
            .iter()
            .map(|entity| EntityId::new(ENTITIES[*entity]))
            .collect();
        let mut say = |message| {
            self.said.push(Said {
                message,
                labels: labels.clone(),
            });
        };
        match self.dice.of(4) {
            0 => say(Message::System(text)),
            1 => {
                let arguments = serde_json::json!({ "note": text }).to_string();
                say(Message::Assistant(Turn {
                    calls: vec![ToolCall {
                        id: "call_1".to_owned(),
                        name: "read".to_owned(),
                        arguments: arguments.clone(),
                    }],
                    ..Turn::default()
                }));
                say(Message::Result(CallResult {
                    call_id: "call_1".to_owned(),
                    text: arguments,
                    is_error: false,
                }));
            }
            _ => say(Message::User(text)),
        }
    }

    /// A summary takes the place of everything, and holds everybody's data.
    fn compact(&mut self) {
        let labels = self.labels();
        let mut text = "So far:".to_owned();
        for said in &self.said {
            let words = match &said.message {
                Message::System(text) | Message::User(text) => text.as_str(),
                Message::Assistant(turn) => turn.text.as_str(),
                Message::Result(result) => result.text.as_str(),
            };
            text.push('\n');
            text.push_str(words);
        }
        let message = Message::System(text);
        self.said = vec![Said { message, labels }];
    }

    fn labels(&self) -> EntityLabels {
        let each = self.said.iter().map(|said| &said.labels);
        each.fold(EntityLabels::none(), |all, one| all.join(one))
    }

    async fn ask(&mut self) -> Result<(), String> {
        let labels = self.labels();
        let mut messages: Vec<Message> =
            self.said.iter().map(|said| said.message.clone()).collect();
        messages.push(Message::User("Go on.".to_owned()));
        let request = ChatRequest {
            messages,
            ..ChatRequest::default()
        };
        let job = JOBS[self.dice.of(JOBS.len())];
        let named = (self.dice.of(6) == 0).then(|| PROVIDERS[self.dice.of(PROVIDERS.len())].0);
        let ask = ModelAsk {
            labels: labels.clone(),
            provider: named.map(str::to_owned),
            may_cost: self.dice.of(2) == 0,
            ..ModelAsk::new(job, self.name.clone(), request)
        };
        let mut stream = match self.models.ask(&ctx(), ask).await {
            Ok(stream) => stream,
            Err(error) => {
                if error.is_refused() {
                    self.world.count(|counts| counts.refused += 1);
                }
                return Ok(());
            }
        };
        if stream.has_fallen_back() {
            self.world.count(|counts| counts.fell_back += 1);
        }
        let (mut text, changes) = (String::new(), self.dice.of(30) == 0);
        let leaves = self.dice.of(12) == 0;
        loop {
            match stream.next().await {
                Some(Ok(Delta::Text(piece))) => {
                    let is_first = text.is_empty();
                    text.push_str(&piece);
                    if is_first && changes {
                        self.world.change();
                    }
                    if leaves {
                        break;
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => {
                    if error.is_refused() {
                        self.world.count(|counts| counts.stopped += 1);
                    }
                    break;
                }
                None => {
                    self.world.count(|counts| counts.answered += 1);
                    break;
                }
            }
        }
        if text.contains("⟦P:") {
            return Err(format!("{}: a token was not restored: {text}", self.name));
        }
        if text.contains(PERSON) {
            self.world.count(|counts| counts.restored += 1);
        }
        let message = Message::Assistant(Turn {
            text,
            ..Turn::default()
        });
        self.said.push(Said { message, labels });
        Ok(())
    }
}

/// What tokens stand for is on disk, and nobody can read it there.
fn sealed(hub: &Hub, count: usize) -> Result<(), String> {
    let mut kept = 0;
    for number in 0..count.min(100) {
        let rows = hub.store.vault_list(ENTITIES[0], &format!("c{number}"));
        for row in rows.map_err(|error| error.to_string())? {
            let sealed = String::from_utf8_lossy(&row.sealed).into_owned();
            if sealed.contains("Avery") || sealed.contains("Placeholder") {
                return Err("a vault holds a name in plain".to_owned());
            }
            kept += 1;
        }
    }
    match kept {
        0 => Err("no token was kept".to_owned()),
        _ => Ok(()),
    }
}

fn ctx() -> OpContext {
    let caller = Caller {
        principal: Principal {
            client: ClientId::new("tester"),
            via: Via::Admin,
        },
        seat: SeatId::new("test"),
        workspace: None,
    };
    OpContext::new(caller, Cancel::new())
}
