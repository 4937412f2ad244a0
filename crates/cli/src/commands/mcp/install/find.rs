//! What is to be installed, and by which of its ways.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use legation_registry::bundle::ARCHIVE_MAX;
use legation_registry::{
    Bundle, BundleAt, Kind, Offer, Server, Shelf, Way, fetch_bundle, is_sha256,
};

use super::{InstallArgs, bad_bundle};
use crate::commands::mcp::bundles::platform;
use crate::commands::mcp::search::{failed, open, proxies, run};
use crate::table::printable;
use crate::{CliError, Context, Exit};

/// A way that was chosen.
#[derive(Debug)]
pub(super) struct Candidate {
    /// What it would be called.
    pub(super) name: String,
    /// What people read.
    pub(super) title: Option<String>,
    /// Where it comes from, in full.
    pub(super) origin: String,
    /// What it is for, in its publisher's words.
    pub(super) description: String,
    pub(super) way: Way,
    pub(super) bundle: Option<Bundle>,
    pub(super) notes: Vec<String>,
    /// The other ways, and why some of them cannot be used.
    pub(super) others: Vec<String>,
}

pub(super) fn candidate(
    context: &Context,
    args: &InstallArgs,
    what: &str,
) -> Result<Candidate, CliError> {
    if what.starts_with("https://") || what.starts_with("http://") {
        let hash = args.sha256.as_deref().ok_or_else(|| {
            CliError::new(
                Exit::Usage,
                "a bundle that is fetched could be any; nothing was installed",
            )
            .with_hint("say its SHA-256 with --sha256, or download it and install the file")
        })?;
        let at = BundleAt::new(what, hash).map_err(|error| failed(&error))?;
        crate::commands::config::settings_to_connect(context)?;
        let bytes = run(fetch_bundle(&at, proxies(context)))?;
        return of_bundle(context, what.to_owned(), bytes);
    }
    let path = Path::new(what);
    let is_bundle = path
        .extension()
        .is_some_and(|end| end == "mcpb" || end == "dxt");
    if is_bundle || path.is_absolute() || what.starts_with('.') {
        let bytes = read(path)?;
        let found = of_bundle(context, what.to_owned(), bytes)?;
        return checked_by_hand(found, args.sha256.as_deref());
    }
    let (name, version) = match what.rsplit_once('@') {
        Some((name, version)) => (name, Some(version)),
        None => (what, None),
    };
    let registry = open(context, args.registry.as_deref())?;
    let server = run(registry.server(name, version))?;
    let (offer, others) = chosen(context, &server, args.from.as_deref())?;
    let origin = format!("{}@{} of {}", server.name, server.version, registry.url());
    let mut found = match offer {
        Offer::Way(way) => Candidate {
            name: String::new(),
            title: None,
            origin: origin.clone(),
            description: String::new(),
            way: (**way).clone(),
            bundle: None,
            notes: Vec::new(),
            others,
        },
        Offer::Bundle(at) => {
            let bytes = run(registry.bundle(at))?;
            let found = of_bundle(context, origin.clone(), bytes)?;
            Candidate { others, ..found }
        }
        Offer::Left { why, .. } => return Err(none_usable(&server, why)),
    };
    found.name = plain(server.name.rsplit('/').next().unwrap_or_default());
    found.title = server.title.clone();
    found.description = server.description.clone();
    if server.is_deprecated {
        found
            .notes
            .push("its publisher advises against it (deprecated)".to_owned());
    }
    if let Some(program) = found
        .way
        .program()
        .filter(|program| !is_there(context, program))
    {
        found
            .notes
            .push(format!("{program} is not here yet: install it first"));
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Bytes, CliError> {
    let cannot = |error: std::io::Error| {
        let message = format!("{}: {error}; nothing was installed", path.display());
        CliError::new(Exit::Failed, message)
    };
    let file = File::open(path).map_err(cannot)?;
    let mut bytes = Vec::new();
    let most = ARCHIVE_MAX as u64 + 1;
    file.take(most).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(Bytes::from(bytes))
}

fn of_bundle(context: &Context, origin: String, bytes: Bytes) -> Result<Candidate, CliError> {
    let bundle = Bundle::read(bytes, platform()).map_err(|error| bad_bundle(&error))?;
    let folder = Shelf::of(&context.home).folder(bundle.sha256());
    let way = bundle.way(&folder).map_err(|error| bad_bundle(&error))?;
    let (files, bytes) = bundle.size();
    Ok(Candidate {
        name: plain(bundle.name()),
        title: None,
        description: bundle.description().to_owned(),
        origin,
        way,
        notes: vec![format!(
            "{files} files of {bytes} bytes go to {}",
            folder.display()
        )],
        bundle: Some(bundle),
        others: Vec::new(),
    })
}

fn checked_by_hand(found: Candidate, wanted: Option<&str>) -> Result<Candidate, CliError> {
    let is = found
        .bundle
        .as_ref()
        .map(Bundle::sha256)
        .unwrap_or_default();
    match wanted.map(str::to_ascii_lowercase) {
        None => Ok(found),
        Some(wanted) if is_sha256(&wanted) && wanted == is => Ok(found),
        Some(_) => Err(CliError::new(
            Exit::Refused,
            format!(
                "the bundle's SHA-256 is {is}, which is not what you said; nothing was installed"
            ),
        )
        .with_hint("do not use it; tell who publishes it")),
    }
}

/// The way that is named, else the first whose program is there, else the first; and the others.
fn chosen<'s>(
    context: &Context,
    server: &'s Server,
    from: Option<&str>,
) -> Result<(&'s Offer, Vec<String>), CliError> {
    let usable = |offer: &&Offer| !matches!(offer, Offer::Left { .. });
    let named = |offer: &&Offer| from.is_none_or(|from| offer.kind() == from);
    let is_ready = |offer: &&Offer| match offer {
        Offer::Way(way) => way
            .program()
            .is_none_or(|program| is_there(context, &program)),
        Offer::Bundle(_) => true,
        Offer::Left { .. } => false,
    };
    let all = || server.offers.iter().filter(named);
    let offer = all()
        .find(is_ready)
        .or_else(|| all().find(usable))
        .or_else(|| all().next());
    let offer = offer.ok_or_else(|| {
        let kinds: Vec<&str> = server.offers.iter().map(Offer::kind).collect();
        let what = format!("it is offered as: {}", kinds.join(", "));
        none_usable(server, &what)
    })?;
    let others = server
        .offers
        .iter()
        .filter(|other| !std::ptr::eq(*other, offer));
    let others = others.map(|other| match other {
        Offer::Left { kind, why } => format!("{kind} (not usable: {why})"),
        other => format!("{} (--from {})", other.kind(), other.kind()),
    });
    Ok((offer, others.collect()))
}

fn none_usable(server: &Server, why: &str) -> CliError {
    let message = format!(
        "{} {} cannot be installed: {why}; nothing was installed",
        server.name, server.version
    );
    CliError::new(Exit::Refused, printable(&message))
        .with_hint("`legation mcp add` takes a command or an address that you know")
}

/// Whether a program would be found. One of a bundle is in it.
fn is_there(context: &Context, program: &str) -> bool {
    if program.contains('/') {
        return true;
    }
    let path = context.environment.get_os("PATH");
    let folders = path.map(std::env::split_paths);
    folders
        .into_iter()
        .flatten()
        .any(|folder| folder.join(program).is_file())
}

/// A name that every client can use.
fn plain(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let name: String = text
        .to_lowercase()
        .chars()
        .map(|letter| if fits(letter) { letter } else { '-' })
        .take(64)
        .collect();
    name.trim_matches('-').to_owned()
}

// === impl Candidate ===

impl Candidate {
    /// The word of its kind.
    pub(super) fn kind(&self) -> &'static str {
        self.way.kind.as_str()
    }

    /// Whether a program of this machine is run.
    pub(super) fn is_local(&self) -> bool {
        self.way.kind != Kind::Remote
    }
}
