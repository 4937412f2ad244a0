//! How long it takes to list every tool, page by page.

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::client::{Client, Dialect, Target, shorten};
use crate::sys;

/// Pages after which a list counts as endless.
const MAX_PAGES: usize = 10_000;

/// What a listing came to.
#[derive(Debug, Clone, Serialize)]
pub struct Listing {
    /// How many tools were listed.
    pub tools: usize,
    /// On how many pages.
    pub pages: usize,
    /// The median time for all pages in milliseconds.
    pub median_ms: f64,
    /// Each time in milliseconds.
    pub all_ms: Vec<f64>,
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    result: Page<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    next_cursor: Option<String>,
}

/// Lists all tools, `times` times over one connection.
///
/// # Errors
/// The server is not there, or an answer is no list.
pub fn run(target: &Target, dialect: &Dialect, times: usize) -> Result<Listing> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut client = Client::open(target, dialect).await?;
        let (mut all_ms, mut size) = (Vec::new(), (0, 0));
        for _ in 0..times.max(1) {
            let begun = sys::now();
            size = list(&mut client, dialect).await?;
            all_ms.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
        let median_ms = median(&all_ms);
        Ok(Listing {
            tools: size.0,
            pages: size.1,
            median_ms,
            all_ms,
        })
    })
}

/// One whole list: tools and pages.
async fn list(client: &mut Client, dialect: &Dialect) -> Result<(usize, usize)> {
    let (mut tools, mut cursor) = (0, String::new());
    for page in 1..=MAX_PAGES {
        let body = dialect.body(page as u64, "tools/list", &cursor);
        let answer = client.request("tools/list", None, &body).await?;
        let answer = message(answer);
        let answer: Answer<'_> = serde_json::from_slice(answer)
            .with_context(|| format!("this is no list of tools: {}", shorten(answer)))?;
        tools += answer.result.tools.len();
        match answer.result.next_cursor {
            Some(next) => cursor = format!(r#""cursor":{}"#, serde_json::to_string(&next)?),
            None => return Ok((tools, page)),
        }
    }
    bail!("the list has more than {MAX_PAGES} pages")
}

/// The message itself, where it came as the one event of a stream.
fn message(answer: &[u8]) -> &[u8] {
    let begin = memchr::memchr(b'{', answer).unwrap_or(0);
    let end = memchr::memrchr(b'}', answer).map_or(answer.len(), |at| at + 1);
    &answer[begin..end.max(begin)]
}

/// The middle of some numbers; zero of none.
#[must_use]
pub fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}
