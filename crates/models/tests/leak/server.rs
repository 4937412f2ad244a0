//! A model server that records what arrives, and answers with a piece of it.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{Fate, World};

/// Starts one; its port.
pub(crate) async fn start(provider: usize, world: Arc<World>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tokio::runtime::Handle::current().spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let world = Arc::clone(&world);
            tokio::runtime::Handle::current().spawn(async move {
                // A client that goes is no failure of the server's.
                drop(serve(socket, provider, &world).await);
            });
        }
    });
    port
}

async fn serve(mut socket: TcpStream, provider: usize, world: &World) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let (head, body) = read(&mut socket).await?;
    if head.starts_with("GET ") {
        // What it is: a server with one model, which says no more.
        let known = head.starts_with("GET /v1/models ");
        let list = json!({ "data": [{ "id": "small" }] }).to_string();
        return match known {
            true => plain(&mut socket, 200, &list).await,
            false => plain(&mut socket, 404, "{}").await,
        };
    }
    let mut all = head.into_bytes();
    all.extend(&body);
    let fate = world.arrived(provider, &all);
    match fate {
        Fate::Fail | Fate::ChangeAndFail => return plain(&mut socket, 500, "{}").await,
        Fate::Busy => return plain(&mut socket, 429, "{}").await,
        Fate::Answer | Fate::CutOff => {}
    }
    let begin = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    socket.write_all(begin.as_bytes()).await?;
    let said = piece(&body);
    // In pieces that part whatever is in it.
    let letters: Vec<char> = said.chars().collect();
    for (at, part) in letters.chunks(5).enumerate() {
        let text: String = part.iter().collect();
        let event = json!({ "choices": [{ "delta": { "content": text } }] });
        socket
            .write_all(format!("data: {event}\n\n").as_bytes())
            .await?;
        if fate == Fate::CutOff && at == 2 {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] });
    socket
        .write_all(format!("data: {end}\n\ndata: [DONE]\n\n").as_bytes())
        .await
}

/// The last thing that it was told.
fn piece(body: &[u8]) -> String {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let messages = body["messages"].as_array();
    // The very last only asks to go on.
    let last = messages.and_then(|all| all.iter().rev().nth(1));
    let text = last.and_then(|last| last["content"].as_str());
    format!("I read: {}", text.unwrap_or("nothing"))
}

async fn plain(socket: &mut TcpStream, status: u16, body: &str) -> std::io::Result<()> {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{body}"
    );
    socket.write_all(answer.as_bytes()).await
}

/// A request's head and its body, which has a length.
async fn read(socket: &mut TcpStream) -> std::io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let lower = head.to_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().expect("a length"));
    while bytes.len() < end + length {
        if socket.read_buf(&mut bytes).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok((head, bytes.split_off(end)))
}
