//! How long the hub takes for the pages of its console with a long ledger.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::json;

use super::hub::{Home, stop};
use super::programs::{Programs, output_of};
use super::table::{Row, Table, Target};
use crate::sys;

/// Records that the ledger holds: calls, two records each.
const CALLS: (u32, u32) = (500_000, 10_000);
/// How often each page is asked for.
const ROUNDS: (usize, usize) = (50, 5);
/// Milliseconds that a page may take.
const PAGE_MS: f64 = 20.0;
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser that was let in.
struct Browser {
    stream: TcpStream,
    address: String,
    cookie: String,
}

/// What a page was answered with.
struct Page {
    status: u16,
    head: String,
    body: String,
}

/// Fills a hub's ledger while it is down, and looks at every page.
pub(super) fn measure(programs: &Programs, quick: bool, table: &mut Table) -> Result<()> {
    let (calls, rounds) = match quick {
        true => (CALLS.1, ROUNDS.1),
        false => (CALLS.0, ROUNDS.0),
    };
    let home = Home::new(programs, &json!({}))?;
    output_of(home.legation(&["governance", "init", "--template", "business", "--json"]))?;
    // Its first start makes the store and the keys.
    stop(&mut home.serve()?)?;
    sys::say(&format!("a ledger of {} records", 2 * calls));
    fill(&home, calls)?;
    let mut hub = home.serve()?;
    let address = hub.url("");
    let mut browser = Browser::let_in(&home, address.trim_start_matches("http://"))?;
    let first = sys::now();
    browser.get("/ledger")?;
    let took = (sys::now() - first).as_secs_f64() * 1e3;
    let name = |page: &str| format!("console, {} records: {page}", 2 * calls);
    let row = name("/ledger, the first time");
    table.push(Row::new(row, took, "ms", Target::None));
    browser.counted()?;
    for path in paths(&home)? {
        let mut took = Vec::with_capacity(rounds);
        for _ in 0..rounds {
            let began = sys::now();
            let page = browser.get(&path)?;
            took.push((sys::now() - began).as_secs_f64() * 1e3);
            ensure!(page.status == 200, "{path}: {} {}", page.status, page.body);
        }
        let p50 = super::programs::median(&took);
        let shown = path
            .split_once("/calls/")
            .map_or(&*path, |_| "/ledger/calls/ID");
        let row = name(&format!("{shown}, p50"));
        table.push(Row::new(row, p50, "ms", Target::AtMost(PAGE_MS)));
    }
    stop(&mut hub)
}

/// Every page there is with nothing but a ledger and the desk's own rows.
fn paths(home: &Home) -> Result<Vec<String>> {
    let found =
        output_of(home.legation(&["audit", "query", "--kind", "intent", "-n", "1", "--json"]))?;
    let record = &found["records"][0];
    let call = record["record"]["call"].as_str();
    let call = call.with_context(|| format!("no call: {found}"))?;
    let at = record["position"].as_i64().unwrap_or_default();
    let mut paths: Vec<String> = [
        "/",
        "/servers",
        "/servers/desk",
        "/definitions",
        "/approvals",
        "/inbox",
        "/tasks",
        "/desk",
        "/desk/digest",
        "/desk/deals",
        "/desk/triage",
        "/desk/calendar",
        "/models",
        "/governance",
        "/ledger",
        "/ledger?days=90",
        "/ledger?client=nobody",
        "/ledger?entity=meadow&kind=refused",
    ]
    .map(str::to_owned)
    .into();
    paths.push(format!("/ledger/calls/{call}?at={at}"));
    Ok(paths)
}

/// Writes the records, by the ledger itself.
fn fill(home: &Home, calls: u32) -> Result<()> {
    let mut command = sys::cargo();
    command.args(["run", "--release", "--quiet", "-p", "legation-ledger"]);
    command.args(["--example", "fill", "--"]);
    command.arg(home.path()).arg(calls.to_string());
    let filled = command.status().context("cargo cannot be started")?;
    ensure!(filled.success(), "the ledger could not be filled");
    Ok(())
}

// === impl Browser ===

impl Browser {
    /// Opens the console by the link that the command prints.
    fn let_in(home: &Home, address: &str) -> Result<Self> {
        let output = home.legation(&["console", "--no-open"]).output();
        let output = output.context("the console's command cannot be started")?;
        let link = String::from_utf8(output.stdout)?;
        let (_, word) = link.trim().rsplit_once('/').context("no link")?;
        let stream = TcpStream::connect(address).context("the console is not there")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let mut browser = Self {
            stream,
            address: address.to_owned(),
            cookie: String::new(),
        };
        let form = format!("word={word}");
        let more = format!(
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n",
            form.len()
        );
        let page = browser.ask("POST /login", &more, &form)?;
        let cookie = page.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        });
        let cookie = cookie.with_context(|| format!("not let in: {}", page.head))?;
        cookie
            .split(';')
            .next()
            .unwrap_or_default()
            .clone_into(&mut browser.cookie);
        Ok(browser)
    }

    fn get(&mut self, path: &str) -> Result<Page> {
        self.ask(&format!("GET {path}"), "", "")
    }

    /// Waits until everything was counted.
    fn counted(&mut self) -> Result<()> {
        let deadline = sys::now() + PATIENCE;
        while sys::now() < deadline {
            if !self
                .get("/ledger")?
                .body
                .contains("older records are being counted")
            {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the ledger is not counted");
    }

    fn ask(&mut self, line: &str, more: &str, body: &str) -> Result<Page> {
        let Self {
            stream,
            address,
            cookie,
        } = self;
        write!(
            stream,
            "{line} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nCookie: {cookie}\r\n{more}\r\n{body}"
        )?;
        let mut read = Vec::new();
        let mut piece = [0; 64 * 1024];
        let (head, mut body) = loop {
            if let Some(end) = read.windows(4).position(|four| four == b"\r\n\r\n") {
                let rest = read.split_off(end + 4);
                break (String::from_utf8(read)?, rest);
            }
            let length = stream.read(&mut piece).context("no answer")?;
            ensure!(length > 0, "the hub hung up: {line}");
            read.extend_from_slice(&piece[..length]);
        };
        let lower = head.to_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(Ok(0), |length| length.trim().parse())?;
        while body.len() < length {
            let more = stream.read(&mut piece).context("half an answer")?;
            ensure!(more > 0, "the hub hung up in the middle: {line}");
            body.extend_from_slice(&piece[..more]);
        }
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Ok(Page {
            status: status.with_context(|| format!("no status: {head}"))?,
            head,
            body: String::from_utf8(body)?,
        })
    }
}
