//! Ways to ask for what is another's.

use legation_tests::harness::random::Random;
use serde_json::{Value, json};

/// What there is on a side, by its ids.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) company: &'static str,
    pub(super) letters: Vec<String>,
    pub(super) threads: Vec<String>,
    pub(super) events: Vec<String>,
    pub(super) deals: Vec<String>,
    pub(super) items: Vec<String>,
    pub(super) deadlines: Vec<String>,
    pub(super) filings: Vec<String>,
}

/// One request.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

/// Makes arguments up.
struct Making<'a> {
    random: &'a mut Random,
    own: &'a Known,
    other: &'a Known,
}

/// Any of them, for somebody of one side who wants what is of the other.
pub(super) fn way(random: &mut Random, own: &Known, other: &Known) -> Way {
    let mut making = Making { random, own, other };
    match making.random.below(20) {
        0 | 1 => making.resource(),
        2 => making.prompt(),
        3 => making.completion(),
        4 | 5 => making.beside(),
        6 => {
            let (name, arguments) = making.tool();
            call(
                "hub-call_tool",
                json!({"name": name, "arguments": arguments}),
            )
        }
        _ => {
            let (name, arguments) = making.tool();
            call(name, arguments)
        }
    }
}

// === impl Known ===

impl Known {
    /// Everything that has an id.
    fn ids(&self) -> Vec<&str> {
        let all = [
            &self.letters,
            &self.threads,
            &self.events,
            &self.deals,
            &self.items,
            &self.deadlines,
            &self.filings,
        ];
        all.into_iter().flatten().map(String::as_str).collect()
    }

    /// What people call it.
    fn names(&self) -> [&'static str; 5] {
        match self.company {
            "harbor" => [
                "harbor",
                "Harbor Partners",
                "harbor-m365",
                "harbor.example.com",
                "first.example.com",
            ],
            _ => [
                "meadow",
                "Meadow Care Homes",
                "meadow-m365",
                "meadow.example.com",
                "second.example.com",
            ],
        }
    }

    /// Somebody of its people.
    fn address(&self) -> &'static str {
        match self.company {
            "harbor" => "blake.sample@first.example.com",
            _ => "ellis.placeholder@second.example.com",
        }
    }
}

// === impl Making ===

impl Making<'_> {
    /// The other's name, all, or both, as it is or disguised.
    fn name(&mut self) -> Value {
        let own = self.own.company;
        let other = self.other.names();
        let name = match self.random.below(8) {
            0 => "all".to_owned(),
            1 => format!("{own},{}", other[0]),
            2 => format!("{own}/../{}", other[0]),
            3 => own.to_owned(),
            _ => self.random.pick(&other).to_owned(),
        };
        let name = self.disguised(&name);
        match self.random.below(16) {
            0 => json!([name]),
            1 => json!({"id": name}),
            2 => json!(format!("[\"{name}\"]")),
            3 => Value::Null,
            _ => json!(name),
        }
    }

    fn disguised(&mut self, name: &str) -> String {
        let each = |change: &dyn Fn(char) -> char| name.chars().map(change).collect::<String>();
        let middle = name.char_indices().nth(2).map_or(0, |(at, _)| at);
        let (head, tail) = name.split_at(middle);
        match self.random.below(16) {
            0 => name.to_uppercase(),
            1 => format!("{}{}", head.to_uppercase(), tail),
            2 => each(&|c| match c {
                // The same letters, as wide as ideographs.
                'a'..='z' => char::from_u32(u32::from(c) - 97 + 0xff41).unwrap_or(c),
                other => other,
            }),
            3 => each(&|c| match c {
                // Letters of another script that look the same.
                'a' => 'а',
                'o' => 'о',
                'e' => 'е',
                other => other,
            }),
            4 => format!("{head}\u{200b}{tail}"),
            5 => format!("{head}\u{ad}{tail}"),
            6 => format!("{name} "),
            7 => format!("\t{name}"),
            8 => format!("{head}\u{301}{tail}"),
            9 => format!("\u{202e}{name}"),
            10 => name.bytes().map(|byte| format!("%{byte:02x}")).collect(),
            11 => format!("{name}\0"),
            _ => name.to_owned(),
        }
    }

    /// An account, mostly one's own: whose else could be named is asked for by `name`.
    fn account(&mut self) -> Value {
        match self.random.below(3) {
            0 => json!(self.own.company),
            _ => self.name(),
        }
    }

    /// An id of the other's, as it is, in the form of a source, or changed a little.
    fn id(&mut self, of: &[String]) -> Value {
        let all = self.other.ids();
        let id = match of {
            [] => self.random.pick(&all).to_owned(),
            of => match self.random.below(5) {
                0 => self.random.pick(&all).to_owned(),
                _ => of[self.random.below(of.len())].clone(),
            },
        };
        let company = self.other.company;
        let id = match self.random.below(12) {
            0 => format!("mail/{company}/{id}"),
            1 => format!("deal/{id}"),
            2 => id.to_uppercase(),
            3 => format!("{id} "),
            4 => format!("../{company}/{id}"),
            5 => format!("{id}?$expand=attachments"),
            _ => id,
        };
        json!(id)
    }

    fn letter(&mut self) -> Value {
        let letters = self.other.letters.clone();
        self.id(&letters)
    }

    fn deal(&mut self) -> Value {
        let deals = self.other.deals.clone();
        self.id(&deals)
    }

    fn item(&mut self) -> Value {
        let items = self.other.items.clone();
        self.id(&items)
    }

    fn folder(&mut self) -> Value {
        let company = self.other.company;
        let all = self.other.ids();
        let folder = match self.random.below(6) {
            0 => format!("/{company}"),
            1 => format!("../../{company}/mailFolders/inbox"),
            2 => format!("users/{}/mailFolders/inbox", self.other.address()),
            3 => self.random.pick(&all).to_owned(),
            4 => "inbox".to_owned(),
            _ => "archive".to_owned(),
        };
        json!(folder)
    }

    /// A tool of the desk with arguments that lead to the other side.
    fn tool(&mut self) -> (&'static str, Value) {
        match self.random.below(19) {
            0 => ("desk-status", json!({})),
            1 => ("desk-doctor", json!({"profile_id": self.name()})),
            2 => {
                let of = json!({"entity_context": self.name(), "status": "active"});
                ("desk-deals_list", of)
            }
            3 => ("desk-deal_detail", json!({"deal_id": self.deal()})),
            4 => {
                let of = json!({"deal_id": self.deal(), "limit": 100});
                ("desk-deal_timeline", of)
            }
            5 => ("desk-deal_create", self.new_deal()),
            6 => {
                let of = json!({"entity_context": self.name(), "include_personal": true});
                ("desk-morning_brief", of)
            }
            7 => ("desk-eod_digest", json!({"entity_context": self.name()})),
            8 => {
                let of = json!({"profile_id": self.account(), "folder": self.folder(), "top": 50});
                ("desk-mail_list", of)
            }
            9 => {
                let of = json!({"profile_id": self.account(), "message_id": self.letter()});
                ("desk-mail_read", of)
            }
            10 => {
                let of = json!({
                    "profile_id": self.account(), "message_id": self.letter(),
                    "destination_folder": self.folder(), "create_folder": true,
                });
                ("desk-mail_move", of)
            }
            11 => {
                let of = json!({"profile_id": self.account(), "days": 14});
                ("desk-calendar_list", of)
            }
            12 => ("desk-calendar_event_create", self.hold()),
            13 => ("desk-draft_email", self.draft()),
            14 => {
                let ids = json!([self.letter(), self.letter()]);
                let of = json!({"profile_id": self.account(), "message_ids": ids});
                ("desk-draft_generate", of)
            }
            15 => {
                let of = json!({"entity_context": self.name(), "state": "open", "limit": 200});
                ("desk-triage_list", of)
            }
            16 => ("desk-triage_classify", self.sorting()),
            17 => {
                let of =
                    json!({"item_id": self.item(), "path": format!("/{}", self.other.company)});
                ("desk-filing_suggestion", of)
            }
            _ => ("desk-extraction_deadlines", self.text()),
        }
    }

    fn new_deal(&mut self) -> Value {
        let target = format!("mail/{}/{}", self.other.company, self.other.letters[0]);
        json!({
            "entity": self.account(), "deal_name": format!("House of {}", self.own.company),
            "links": [{"label": "See", "target": target}],
            "idempotency_key": format!("key-{}", self.random.below(5)),
        })
    }

    fn hold(&mut self) -> Value {
        json!({
            "profile_id": self.account(), "subject": format!("Visit of {}", self.own.company),
            "start": "2030-01-02T10:00:00", "end": "2030-01-02T11:00:00",
            "attendees": [self.other.address()],
            "transaction_id": format!("visit-{}", self.random.below(5)),
        })
    }

    /// A letter with one's own words in it, to the other's people or in the other's folder.
    fn draft(&mut self) -> Value {
        let to = match self.random.below(2) {
            0 => self.other.address(),
            _ => self.own.address(),
        };
        let mut draft = json!({
            "profile_id": self.account(), "to": [to], "subject": "Figures",
            "body_html": format!("<p>Of {}: {}</p>", self.own.company, own_mark(self.own)),
        });
        if self.random.below(2) == 0 {
            draft["reply_to_message_id"] = self.letter();
        }
        draft
    }

    /// An item of the other's; or one's own, to be given away or put to the other's deal.
    fn sorting(&mut self) -> Value {
        let own = self.own.items[self.random.below(self.own.items.len())].clone();
        match self.random.below(4) {
            0 => json!({"item_id": own, "deal_id": self.deal(), "category": "deal"}),
            1 => json!({"item_id": own, "entity": self.name()}),
            2 => json!({"item_id": self.item(), "entity": self.own.company, "state": "open"}),
            _ => json!({"item_id": self.item(), "state": "done"}),
        }
    }

    fn text(&mut self) -> Value {
        let text = "The answer is due no later than January 5, 2030.";
        match self.random.below(3) {
            0 => json!({"text": text, "deal_id": self.deal()}),
            1 => json!({"text": text, "entity": self.name(), "source_ref": self.letter()}),
            _ => json!({"text": text, "entity": self.own.company, "deal_id": self.deal()}),
        }
    }

    /// Addresses of the other's deal, of files that are not listed, and of rows that are no resource.
    fn resource(&mut self) -> Way {
        let deal = self.other.deals[0].clone();
        let id = self.id(&[]);
        let id = id.as_str().unwrap_or_default();
        let company = self.other.company;
        let uri = match self.random.below(12) {
            0 | 1 => format!("legation://deals/{deal}"),
            2 => format!("legation://deals/{}", deal.to_uppercase()),
            3 => format!("LEGATION://deals/{deal}"),
            4 => format!("legation://deals/./{deal}"),
            5 => format!("legation://deals/{}", deal.replace('-', "%2d")),
            6 => format!("legation://deals/{id}"),
            7 => "legation://config/operator_profile".to_owned(),
            8 => "legation://config/draft_style".to_owned(),
            9 => format!("legation://config/../deals/{deal}"),
            10 => format!("legation://{company}/inbox"),
            _ => "legation://deals/{deal_id}".to_owned(),
        };
        Way {
            method: "resources/read",
            params: json!({"uri": uri}),
        }
    }

    fn prompt(&mut self) -> Way {
        let name = match self.random.below(3) {
            0 => "hub-servers".to_owned(),
            1 => format!("desk-{}", self.other.company),
            _ => "desk-morning_brief".to_owned(),
        };
        let arguments = json!({"entity": self.disguised(self.other.company)});
        Way {
            method: "prompts/get",
            params: json!({"name": name, "arguments": arguments}),
        }
    }

    fn completion(&mut self) -> Way {
        let begun = match self.random.below(2) {
            0 => self.other.deals[0][..8].to_owned(),
            _ => self.other.company.to_owned(),
        };
        Way {
            method: "completion/complete",
            params: json!({
                "ref": {"type": "ref/resource", "uri": "legation://deals/{deal_id}"},
                "argument": {"name": "deal_id", "value": begun},
            }),
        }
    }

    /// Other servers of the hub's that may know of it, and lists.
    fn beside(&mut self) -> Way {
        let list = |method| Way {
            method,
            params: json!({}),
        };
        match self.random.below(11) {
            0 => list("tools/list"),
            1 => list("resources/list"),
            2 => list("resources/templates/list"),
            3 => list("prompts/list"),
            4 => {
                let of = json!({"entity": self.name(), "limit": 50});
                call("audit-query", of)
            }
            5 => call("audit-query", json!({"limit": 100})),
            6 => call("hub-approvals", json!({})),
            7 => call("hub-find_tools", json!({"query": self.other.company})),
            8 => {
                let of = json!({"entity": self.name()});
                call("inbox-pull", of)
            }
            9 => call("identity-whoami", json!({"account": self.name()})),
            _ => {
                let of = json!({"account": self.name(), "text": own_mark(self.own)});
                call("teams-send", of)
            }
        }
    }
}

fn call(name: &str, arguments: Value) -> Way {
    Way {
        method: "tools/call",
        params: json!({"name": name, "arguments": arguments}),
    }
}

/// What everything of one's own bears.
fn own_mark(own: &Known) -> &'static str {
    match own.company {
        "harbor" => "heliotrope-first",
        _ => "heliotrope-second",
    }
}
