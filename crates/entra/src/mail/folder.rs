//! Folders of a mailbox, and how they are named.

use http::Method;
use legation_core::OpContext;
use serde_json::json;

use super::MailError;
use super::wire::WireFolder;
use crate::base::{query_value, segment};
use crate::error::GraphMeaning;
use crate::graph::{Graph, GraphCall};
use crate::http::Repeat;

/// A folder, as somebody names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Folder {
    /// One that every mailbox has, under the name that Graph gives it.
    Known(&'static str),
    /// By its id.
    Id(String),
    /// By the names of the folders that lead to it.
    Path(Vec<String>),
}

/// A folder that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFolder {
    /// Its id.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// Folders that letters are read from and filed in. The outbox is not among
/// them: what lies there is on its way out.
const KNOWN: [(&str, &str); 6] = [
    ("inbox", "inbox"),
    ("drafts", "drafts"),
    ("sentitems", "sentitems"),
    ("deleteditems", "deleteditems"),
    ("archive", "archive"),
    ("junkemail", "junkemail"),
];
/// Graph knows more of them; none is a place to file anything in.
const CLOSED: [&str; 9] = [
    "outbox",
    "msgfolderroot",
    "recoverableitemsdeletions",
    "scheduled",
    "searchfolders",
    "syncissues",
    "conflicts",
    "localfailures",
    "serverfailures",
];
const ID_MAX: usize = 400;
const DEPTH_MAX: usize = 10;
const NAME_MAX: usize = 255;

// === impl Folder ===

impl Folder {
    /// The inbox.
    pub const INBOX: Self = Self::Known("inbox");
    /// Where drafts wait for their author.
    pub const DRAFTS: Self = Self::Known("drafts");

    /// Reads a name: `inbox` and its like, `/Deals/Mill Lane` for the names of
    /// folders that lead to one, or an id.
    ///
    /// # Errors
    /// [`MailError::FolderName`] for what can be none of these.
    pub fn parse(text: &str) -> Result<Self, MailError> {
        let text = text.trim();
        let wrong = || MailError::FolderName;
        if let Some(path) = text.strip_prefix('/') {
            let names: Vec<String> = path.split('/').map(|name| name.trim().to_owned()).collect();
            let is_name = |name: &String| {
                !name.is_empty() && name.len() <= NAME_MAX && !name.chars().any(char::is_control)
            };
            let is_path = names.len() <= DEPTH_MAX && names.iter().all(is_name);
            return if is_path {
                Ok(Self::Path(names))
            } else {
                Err(wrong())
            };
        }
        let small: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let small = small.to_lowercase();
        if let Some((_, known)) = KNOWN.iter().find(|(name, _)| *name == small) {
            return Ok(Self::Known(known));
        }
        let is_id = (1..=ID_MAX).contains(&text.len())
            && !CLOSED.contains(&small.as_str())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_=+".contains(c));
        if is_id {
            Ok(Self::Id(text.to_owned()))
        } else {
            Err(wrong())
        }
    }

    /// Its segment in a path of Graph's; a path of names has to be looked up.
    pub(super) async fn segment(
        &self,
        ctx: &OpContext,
        graph: &Graph,
    ) -> Result<String, MailError> {
        match self {
            Self::Known(name) => Ok((*name).to_owned()),
            Self::Id(id) => Ok(segment(id)),
            Self::Path(names) => {
                let found = walk(ctx, graph, names, false).await?;
                Ok(segment(&found.id))
            }
        }
    }

    /// The folder itself, and those that lead to it, made where they are not there. Only a path
    /// of names says what to make.
    pub(super) async fn find_or_make(
        &self,
        ctx: &OpContext,
        graph: &Graph,
    ) -> Result<FoundFolder, MailError> {
        match self {
            Self::Path(names) => walk(ctx, graph, names, true).await,
            Self::Known(_) | Self::Id(_) => self.find(ctx, graph).await,
        }
    }

    /// The folder itself.
    pub(super) async fn find(
        &self,
        ctx: &OpContext,
        graph: &Graph,
    ) -> Result<FoundFolder, MailError> {
        let one = match self {
            Self::Path(names) => return walk(ctx, graph, names, false).await,
            Self::Known(name) => (*name).to_owned(),
            Self::Id(id) => segment(id),
        };
        let path = format!("/me/mailFolders/{one}?$select=id,displayName");
        let found = graph.get::<WireFolder>(ctx, &path).await;
        let found = found.map_err(|source| MailError::at_folder(self, source))?;
        FoundFolder::from_wire(found).ok_or(MailError::NoFolder)
    }
}

/// Goes from the root along the names; makes what is not there where that is wanted.
async fn walk(
    ctx: &OpContext,
    graph: &Graph,
    names: &[String],
    makes: bool,
) -> Result<FoundFolder, MailError> {
    let mut at: Option<FoundFolder> = None;
    for name in names {
        let within = match &at {
            None => "/me/mailFolders".to_owned(),
            Some(parent) => format!("/me/mailFolders/{}/childFolders", segment(&parent.id)),
        };
        let found = match child(ctx, graph, &within, name).await? {
            None if makes => make(ctx, graph, &within, name).await?,
            found => found,
        };
        at = Some(found.ok_or(MailError::NoFolder)?);
    }
    at.ok_or(MailError::NoFolder)
}

async fn child(
    ctx: &OpContext,
    graph: &Graph,
    within: &str,
    name: &str,
) -> Result<Option<FoundFolder>, MailError> {
    let filter = format!("displayName eq '{}'", name.replace('\'', "''"));
    let path = format!(
        "{within}?$filter={}&$select=id,displayName&$top=1",
        query_value(&filter)
    );
    let listed = graph.list_some::<WireFolder>(ctx, &path, 1).await;
    let (found, _) = listed.map_err(|source| MailError::Graph { source })?;
    Ok(found.into_iter().find_map(FoundFolder::from_wire))
}

/// Makes a folder. Two of one name cannot be beside each other, so whatever became of the request,
/// one look says whether it is there.
async fn make(
    ctx: &OpContext,
    graph: &Graph,
    within: &str,
    name: &str,
) -> Result<Option<FoundFolder>, MailError> {
    let mut call = GraphCall::new(Method::POST, within);
    call.body = Some(json!({ "displayName": name }));
    call.repeat = Repeat::Refused;
    match graph.call(ctx, &call).await {
        Ok(answer) => {
            let made = answer
                .json()
                .map_err(|source| MailError::Graph { source })?;
            Ok(FoundFolder::from_wire(made))
        }
        Err(error) if error.is_ambiguous() || error.meaning() == Some(GraphMeaning::Conflict) => {
            match child(ctx, graph, within, name).await? {
                None => Err(MailError::Graph { source: error }),
                found => Ok(found),
            }
        }
        Err(source) => Err(MailError::Graph { source }),
    }
}

// === impl FoundFolder ===

impl FoundFolder {
    fn from_wire(wire: WireFolder) -> Option<Self> {
        let name = crate::base::plain(&wire.display_name.unwrap_or_default(), NAME_MAX);
        wire.id.map(|id| Self { id, name })
    }
}
