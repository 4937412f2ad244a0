//! The faults of a server over HTTP, written on the bare socket: an HTTP
//! library would refuse to send most of them.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::time::sleep;

use super::{DROP, ENDLESS, Fault, answer};

/// Accepts connections until the process ends.
pub async fn serve(fault: Fault, listener: TcpListener) -> anyhow::Result<()> {
    loop {
        let (stream, _peer) = listener.accept().await?;
        Handle::current().spawn(async move {
            let _closed = connection(fault, stream).await;
        });
    }
}

/// One request per connection.
async fn connection(fault: Fault, mut stream: TcpStream) -> anyhow::Result<()> {
    let (head, body) = request(&mut stream).await?;
    if !head.starts_with("POST") {
        return head_only(&mut stream, "405 Method Not Allowed").await;
    }
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    match fault {
        Fault::Status500 => return head_only(&mut stream, "500 Internal Server Error").await,
        Fault::Redirect => {
            let there = "307 Temporary Redirect\r\nlocation: http://198.51.100.7/mcp";
            return head_only(&mut stream, there).await;
        }
        _ => {}
    }
    let Some(reply) = answer(fault, &message) else {
        if message.get("id").is_some() {
            sleep(Duration::from_secs(600)).await;
        }
        return head_only(&mut stream, "202 Accepted").await;
    };
    if message["method"] == "tools/call" {
        act(fault, &mut stream, &reply).await
    } else {
        let reply = match fault {
            Fault::NotJson => "{\"jsonrpc\": 2.0, this is no JSON".to_owned(),
            _ => reply,
        };
        let kind = if fault == Fault::WrongType {
            "text/html"
        } else {
            "application/json"
        };
        whole(&mut stream, kind, &reply).await
    }
}

async fn act(fault: Fault, stream: &mut TcpStream, reply: &str) -> anyhow::Result<()> {
    match fault {
        Fault::CutBody => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                reply.len()
            );
            stream.write_all(head.as_bytes()).await?;
            stream
                .write_all(&reply.as_bytes()[..reply.len() / 2])
                .await?;
        }
        Fault::EndlessEvent | Fault::EndlessLine | Fault::EndlessResult => {
            let kind = if fault == Fault::EndlessResult {
                "application/json"
            } else {
                "text/event-stream"
            };
            let head =
                format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await?;
            let opening = reply.split("acted").next().unwrap_or_default();
            let opening = if fault == Fault::EndlessResult {
                opening.to_owned()
            } else {
                format!("data: {opening}")
            };
            stream.write_all(opening.as_bytes()).await?;
            let block = vec![b'x'; 64 * 1024];
            for _ in 0..ENDLESS / block.len() {
                stream.write_all(&block).await?;
            }
            sleep(Duration::from_secs(600)).await;
        }
        Fault::Trickle => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                reply.len()
            );
            stream.write_all(head.as_bytes()).await?;
            for byte in reply.bytes() {
                sleep(DROP).await;
                stream.write_all(&[byte]).await?;
            }
        }
        Fault::Bomb => {
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
                BOMB.len()
            );
            stream.write_all(head.as_bytes()).await?;
            stream.write_all(BOMB).await?;
        }
        Fault::WrongType => whole(stream, "text/html", reply).await?,
        _ => whole(stream, "application/json", reply).await?,
    }
    Ok(())
}

/// The beginning of a gzip stream; whoever decompresses it waits for the rest.
const BOMB: &[u8] = &[
    0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 0xed, 0xc1, 1, 1, 0, 0, 0, 0x80, 0x90, 0xfe, 0xaf, 0xee,
    8,
];

async fn whole(stream: &mut TcpStream, kind: &str, body: &str) -> anyhow::Result<()> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nmcp-session-id: hostile\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}

async fn head_only(stream: &mut TcpStream, status: &str) -> anyhow::Result<()> {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    Ok(stream.shutdown().await?)
}

/// The head as text and the body by its length; enough for the hub's requests.
async fn request(stream: &mut TcpStream) -> anyhow::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            anyhow::bail!("the request ended early");
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .and_then(|(_, value)| value.trim().parse::<usize>().ok())
        .unwrap_or(0);
    while bytes.len() < end + length {
        if stream.read_buf(&mut bytes).await? == 0 {
            anyhow::bail!("the body ended early");
        }
    }
    Ok((head, bytes.split_off(end)))
}
