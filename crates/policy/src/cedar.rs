//! Cedar: the schema, the owner's own policies, and asking them.
//!
//! An erroring policy is skipped by Cedar, a `forbid` as well as a `permit`
//! (its own documentation says so), so an error would open what it should have
//! closed. Policies are therefore validated strictly against a schema when
//! they load, and a decision in which anything erred is a refusal.

mod input;
mod supposing;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::str::FromStr as _;
use std::sync::{Arc, Mutex, PoisonError};

use cedar_policy::{
    ActionConstraint, Authorizer, Context, Entities, Entity, EntityId as Eid, EntityTypeName,
    EntityUid, Policy, PolicyId, PolicySet, Request, RestrictedExpression, Schema, ValidationMode,
    Validator,
};
use legation_core::{ClientId, EntityLabels};

use crate::decision::Rung;
use crate::facts::Facts;
use crate::known::KnownTool;
use crate::target::Question;
use input::Shape;
pub(crate) use supposing::Supposing;

/// Every member of a request's context, but for `input`.
const CALL: &str = "server: String, item: String, tool: String, verb: String, origin: String, \
     via: String, trusted: Bool, read_only: Bool, native: Bool, delegated: Bool, \
     entities: Set<String>, labels: Set<String>, foreign_recipient: Bool, \
     external_recipient: Bool, mixed_entities: Bool, unredacted_phi: Bool, holds: Set<String>, \
     approved: Bool";

/// Members of the context that arguments can change.
const OF_ARGUMENTS: [&str; 6] = [
    "input",
    "foreign_recipient",
    "external_recipient",
    "mixed_entities",
    "unredacted_phi",
    "holds",
];

/// How many clients' entities are kept.
const CLIENTS_MAX: usize = 1024;

/// One set of policies with its schema.
pub(crate) struct Cedar {
    policies: PolicySet,
    schema: Schema,
    authorizer: Authorizer,
    actions: Entities,
    clients: Mutex<HashMap<ClientId, Arc<Entities>>>,
    shapes: HashMap<Box<str>, Shape>,
    /// Whether the arguments themselves are handed over.
    inputs: bool,
    readers: Readers,
}

/// The tools about which a policy reads arguments.
#[derive(Debug)]
enum Readers {
    /// Some policy about every tool does.
    All,
    /// Only policies about the actions of these do.
    Of(HashSet<Box<str>>),
}

/// What is asked.
pub(crate) struct Ask<'a> {
    pub(crate) client: &'a ClientId,
    pub(crate) via: &'static str,
    pub(crate) role: Option<&'a str>,
    pub(crate) delegated: bool,
    pub(crate) question: &'a Question<'a>,
    pub(crate) name: &'a str,
    pub(crate) entities: &'a EntityLabels,
    pub(crate) labels: &'a EntityLabels,
    pub(crate) facts: &'a Facts,
    pub(crate) arguments: Option<&'a serde_json::Value>,
    pub(crate) approved: bool,
}

/// What the policies answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A policy permits it and none forbids it; the first that does.
    Permit(Box<str>),
    /// No policy speaks of it.
    Silent,
    /// These policies forbid it, sorted.
    Forbid(Vec<Box<str>>),
    /// Something could not be evaluated: the policy, or why.
    Error(Box<str>),
}

/// Why policies were refused: a sentence and, where there is one, the line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) message: String,
}

impl std::fmt::Debug for Cedar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cedar({} policies)", self.policies.num_of_policies())
    }
}

// === impl Cedar ===

impl Cedar {
    pub(crate) fn len(&self) -> usize {
        self.policies.num_of_policies()
    }

    /// The servers whose tools some policy names one by one.
    pub(crate) fn named_servers(&self) -> impl Iterator<Item = &str> {
        let names = self.shapes.keys();
        names.filter_map(|name| Some(name.split_once('/')?.0))
    }

    /// Reads and validates a policy file. Policies are named by their `@id`.
    pub(crate) fn load(
        text: &str,
        prefix: &str,
        known: &[KnownTool],
        roles: &BTreeSet<&str>,
    ) -> Result<Self, Refused> {
        let refuse = |message: String| Refused { message };
        let parsed = PolicySet::from_str(text).map_err(|error| refuse(errors_of(&error)))?;
        if parsed.templates().next().is_some() {
            return Err(refuse(
                "templates (`?principal`) are not supported".to_owned(),
            ));
        }
        let mut policies = PolicySet::new();
        let mut named = HashSet::new();
        for (index, policy) in sorted(&parsed).into_iter().enumerate() {
            let id = policy
                .annotation("id")
                .map_or_else(|| format!("{}", index + 1), str::to_owned);
            if !named.insert(id.clone()) {
                return Err(refuse(format!("two policies have the id {id:?}")));
            }
            policies
                .add(policy.new_id(PolicyId::new(format!("{prefix}{id}"))))
                .map_err(|error| refuse(error.to_string()))?;
        }
        let mentioned = mentioned(&policies, roles).map_err(refuse)?;
        let shapes = shapes(&mentioned, known).map_err(refuse)?;
        let (schema, _) = Schema::from_cedarschema_str(&schema_text(&shapes))
            .map_err(|error| refuse(format!("the schema cannot be made: {error}")))?;
        let validated = Validator::new(schema.clone()).validate(&policies, ValidationMode::Strict);
        if !validated.validation_passed() {
            let errors: Vec<String> = validated
                .validation_errors()
                .map(ToString::to_string)
                .collect();
            return Err(refuse(errors.join("; ")));
        }
        let actions = schema
            .action_entities()
            .map_err(|error| refuse(error.to_string()))?;
        let readers = readers(&policies, &shapes);
        Ok(Self {
            policies,
            schema,
            authorizer: Authorizer::new(),
            actions,
            clients: Mutex::default(),
            shapes,
            inputs: true,
            readers,
        })
    }

    /// The same world with other policies, which read no argument.
    fn with(&self, policies: PolicySet) -> Self {
        Self {
            policies,
            schema: self.schema.clone(),
            authorizer: Authorizer::new(),
            actions: self.actions.clone(),
            clients: Mutex::default(),
            shapes: self.shapes.clone(),
            inputs: false,
            readers: Readers::Of(HashSet::new()),
        }
    }

    /// Whether an argument can change what the policies say of a tool.
    pub(crate) fn read_arguments(&self, name: &str) -> bool {
        match &self.readers {
            Readers::All => true,
            Readers::Of(tools) => tools.contains(name),
        }
    }

    /// Asks about one rung.
    pub(crate) fn ask(&self, ask: &Ask<'_>, rung: Rung) -> Answer {
        let (prefix, shape) = match self.shapes.get(ask.name) {
            Some(shape) => (ask.name, self.inputs.then_some(shape)),
            None => ("any", None),
        };
        let request = match self.request(ask, &format!("{prefix}@{rung}"), shape) {
            Ok(request) => request,
            Err(why) => return Answer::Error(why.into()),
        };
        let entities = match self.entities(ask) {
            Ok(entities) => entities,
            Err(why) => return Answer::Error(why.into()),
        };
        let response = self
            .authorizer
            .is_authorized(&request, &self.policies, &entities);
        if let Some(error) = response.diagnostics().errors().next() {
            return Answer::Error(error.to_string().into());
        }
        let mut reasons: Vec<Box<str>> = response
            .diagnostics()
            .reason()
            .map(|id| id.to_string().into())
            .collect();
        reasons.sort_unstable();
        match response.decision() {
            cedar_policy::Decision::Allow => reasons
                .into_iter()
                .next()
                .map_or(Answer::Silent, Answer::Permit),
            cedar_policy::Decision::Deny if reasons.is_empty() => Answer::Silent,
            cedar_policy::Decision::Deny => Answer::Forbid(reasons),
        }
    }

    /// The policies that determine the answer.
    pub(crate) fn spoken(&self, ask: &Ask<'_>, rung: Rung) -> Vec<Box<str>> {
        match self.ask(ask, rung) {
            Answer::Permit(id) => vec![id],
            Answer::Forbid(ids) => ids,
            Answer::Silent | Answer::Error(_) => Vec::new(),
        }
    }

    fn request(
        &self,
        ask: &Ask<'_>,
        action: &str,
        shape: Option<&Shape>,
    ) -> Result<Request, String> {
        let question = ask.question;
        let text = |text: &str| RestrictedExpression::new_string(text.to_owned());
        let flag = RestrictedExpression::new_bool;
        let set = |labels: &EntityLabels| {
            RestrictedExpression::new_set(labels.iter().map(|entity| text(entity.as_str())))
        };
        let mut pairs = vec![
            ("server", text(question.server.as_str())),
            ("item", text(question.item)),
            ("tool", text(ask.name)),
            ("verb", text(question.verb.as_str())),
            ("origin", text(question.origin.as_str())),
            ("via", text(ask.via)),
            ("trusted", flag(question.trusted)),
            ("read_only", flag(question.read_only_hint)),
            ("native", flag(question.native.is_some())),
            ("delegated", flag(ask.delegated)),
            ("entities", set(ask.entities)),
            ("labels", set(ask.labels)),
            ("foreign_recipient", flag(ask.facts.foreign_recipient)),
            ("external_recipient", flag(ask.facts.external_recipient)),
            ("mixed_entities", flag(ask.facts.mixed_entities)),
            ("unredacted_phi", flag(ask.facts.unredacted_phi)),
            (
                "holds",
                RestrictedExpression::new_set(ask.facts.holds.iter().map(|held| text(held))),
            ),
            ("approved", flag(ask.approved)),
        ];
        if let Some(shape) = shape {
            let empty = serde_json::Value::Object(serde_json::Map::new());
            let input = shape
                .expression(ask.arguments.unwrap_or(&empty))
                .map_err(|path| format!("argument {path} is not what the tool's schema says"))?
                .ok_or("the arguments are no object")?;
            pairs.push(("input", input));
        }
        let pairs = pairs
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value));
        let context = Context::from_pairs(pairs).map_err(|error| error.to_string())?;
        // Only a tool's own arguments can fail to fit the schema; the rest is
        // made above in its types.
        let schema = shape.map(|_| &self.schema);
        Request::new(
            uid("Client", ask.client.family()),
            uid("Action", action),
            uid("Server", question.server.as_str()),
            context,
            schema,
        )
        .map_err(|error| error.to_string())
    }

    fn entities(&self, ask: &Ask<'_>) -> Result<Arc<Entities>, String> {
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entities) = clients.get(ask.client) {
            return Ok(Arc::clone(entities));
        }
        let roles = ask.role.map(|role| uid("Role", role)).into_iter().collect();
        let client = Entity::new_no_attrs(uid("Client", ask.client.family()), roles);
        let entities = self
            .actions
            .clone()
            .upsert_entities([client], None)
            .map_err(|error| error.to_string())?;
        let entities = Arc::new(entities);
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        clients.insert(ask.client.clone(), Arc::clone(&entities));
        Ok(entities)
    }
}

/// A policy that reads arguments concerns every tool, unless it names actions
/// of single ones only.
fn readers(policies: &PolicySet, shapes: &HashMap<Box<str>, Shape>) -> Readers {
    let mut tools = HashSet::new();
    for policy in policies.policies() {
        let text = policy.to_string();
        if !OF_ARGUMENTS.iter().any(|name| text.contains(name)) {
            continue;
        }
        let actions = match policy.action_constraint() {
            ActionConstraint::Any => return Readers::All,
            ActionConstraint::In(actions) => actions,
            ActionConstraint::Eq(action) => vec![action],
        };
        for action in actions {
            let id = action.id().unescaped();
            let name = id.rsplit_once('@').map_or(id, |(name, _)| name);
            if !shapes.contains_key(name) {
                return Readers::All;
            }
            tools.insert(name.into());
        }
    }
    Readers::Of(tools)
}

fn uid(kind: &str, id: &str) -> EntityUid {
    let kind = EntityTypeName::from_str(kind).expect("the kinds are constants");
    EntityUid::from_type_name_and_id(kind, Eid::new(id))
}

/// Cedar's errors as one line each.
fn errors_of(errors: &cedar_policy::ParseErrors) -> String {
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    errors.join("; ")
}

/// Policies in the order of the file: Cedar numbers them as it reads.
fn sorted(parsed: &PolicySet) -> Vec<Policy> {
    let mut policies: Vec<Policy> = parsed.policies().cloned().collect();
    policies.sort_by_key(|policy| {
        let id = policy.id().to_string();
        let number = id.trim_start_matches("policy").parse::<usize>();
        number.unwrap_or(usize::MAX)
    });
    policies
}

/// The tools whose actions the policies name.
fn mentioned(policies: &PolicySet, roles: &BTreeSet<&str>) -> Result<BTreeSet<String>, String> {
    let mut tools = BTreeSet::new();
    for policy in policies.policies() {
        for literal in policy.entity_literals() {
            let id = literal.id().unescaped().to_owned();
            match literal.type_name().to_string().as_str() {
                "Action" => {
                    let name = id.rsplit_once('@').map_or(&*id, |(name, _)| name);
                    if Rung::parse(name).is_none() && !matches!(name, "any" | "call") {
                        tools.insert(name.to_owned());
                    }
                }
                "Role" if !roles.contains(id.as_str()) => {
                    return Err(format!("there is no role {id:?} in role_cards.json"));
                }
                _ => {}
            }
        }
    }
    Ok(tools)
}

fn shapes(
    mentioned: &BTreeSet<String>,
    known: &[KnownTool],
) -> Result<HashMap<Box<str>, Shape>, String> {
    mentioned
        .iter()
        .map(|name| {
            let tool = known
                .iter()
                .find(|tool| {
                    tool.item.as_deref().is_some_and(|item| {
                        name.strip_prefix(tool.server.as_str())
                            .and_then(|rest| rest.strip_prefix('/'))
                            == Some(item)
                    })
                })
                .ok_or_else(|| format!("there never was a tool called {name:?}"))?;
            Ok((name.as_str().into(), Shape::of(tool.schema.as_deref())))
        })
        .collect()
}

fn schema_text(shapes: &HashMap<Box<str>, Shape>) -> String {
    let mut text =
        String::from("entity Role;\nentity Client in [Role];\nentity Server;\naction \"call\"");
    let applies = |context: &str| {
        format!(" appliesTo {{ principal: Client, resource: Server, context: {{ {context} }} }};\n")
    };
    text.push_str(&applies(CALL));
    for rung in Rung::ALL {
        text.push_str(&format!(
            "action \"{rung}\";\naction \"any@{rung}\" in [\"{rung}\"]"
        ));
        text.push_str(&applies(CALL));
    }
    for (name, shape) in shapes {
        let quoted = quote(name);
        text.push_str(&format!("action {quoted};\n"));
        for rung in Rung::ALL {
            let action = quote(&format!("{name}@{rung}"));
            text.push_str(&format!("action {action} in [\"{rung}\", {quoted}]"));
            text.push_str(&applies(&format!("{CALL}, input: {}", shape.cedar_type())));
        }
    }
    text
}

/// A text as a Cedar string literal.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            plain if plain.is_ascii() && !plain.is_ascii_control() => quoted.push(plain),
            other => quoted.push_str(&format!("\\u{{{:x}}}", u32::from(other))),
        }
    }
    quoted.push('"');
    quoted
}
