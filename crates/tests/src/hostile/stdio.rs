//! The faults of a child process.

use std::future::pending;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdout};
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::{DROP, ENDLESS, Fault, answer, fork};

/// How many messages make a flood.
const PROGRESS: usize = 50_000;
const QUESTIONS: usize = 1_000;

/// Serves standard input with one fault.
pub async fn serve(fault: Fault) -> anyhow::Result<()> {
    // Registered, the signal does nothing; unregistered, it ends the process.
    let _deaf = if fault == Fault::IgnoreTerm {
        Some(signal(SignalKind::terminate())?)
    } else {
        None
    };
    let _children = if fault == Fault::Fork {
        fork()?
    } else {
        Vec::new()
    };
    if fault == Fault::FloodStderr {
        Handle::current().spawn(flood());
    }
    let mut output = tokio::io::stdout();
    let mut late = None;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        if message["method"] == "notifications/cancelled"
            && let Some(reply) = late.take()
        {
            write(&mut output, reply).await?;
        }
        let Some(reply) = answer(fault, &message) else {
            if fault == Fault::DieReady && message["method"] == "notifications/initialized" {
                anyhow::bail!("I have ended although I was ready");
            }
            continue;
        };
        if message["method"] == "tools/call" {
            if fault == Fault::AfterCancel {
                late = Some(reply);
                continue;
            }
            let bytes = message["params"]["arguments"]["bytes"].as_u64();
            let reply = match bytes.map(usize::try_from) {
                Some(bytes) if fault == Fault::Large => reply.replace("acted", &"x".repeat(bytes?)),
                _ => reply,
            };
            act(fault, &mut output, reply).await?;
        } else if fault == Fault::UnknownIds {
            twice(&mut output, reply).await?;
        } else {
            if fault == Fault::Garbage {
                output
                    .write_all(b"this is no JSON\n{\"half\":\n\xff\xfe\xc0\n\n[]\nnull\n")
                    .await?;
            }
            write(&mut output, reply).await?;
        }
    }
    if fault == Fault::IgnoreTerm {
        pending::<()>().await;
    }
    Ok(())
}

/// The answer to a call, as the fault has it.
async fn act(fault: Fault, output: &mut Stdout, reply: String) -> anyhow::Result<()> {
    match fault {
        Fault::HalfLine => {
            output
                .write_all(&reply.as_bytes()[..reply.len() / 2])
                .await?;
            output.flush().await?;
            pending::<()>().await;
        }
        Fault::EndlessLine | Fault::EndlessResult => {
            let opening = reply.split("acted").next().unwrap_or_default();
            if fault == Fault::EndlessResult {
                output.write_all(opening.as_bytes()).await?;
            }
            let block = vec![b'x'; 64 * 1024];
            for _ in 0..ENDLESS / block.len() {
                output.write_all(&block).await?;
            }
            output.flush().await?;
            pending::<()>().await;
        }
        Fault::Trickle => {
            for byte in reply.bytes() {
                sleep(DROP).await;
                output.write_all(&[byte]).await?;
                output.flush().await?;
            }
        }
        Fault::UnknownIds => twice(output, reply).await?,
        Fault::FloodProgress => {
            for n in 0..PROGRESS {
                let token = if n % 2 == 0 { "1" } else { "\"not-yours\"" };
                let told = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{n}}}}}"#
                );
                let said = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"emergency","data":"x"}}"#;
                output
                    .write_all(format!("{told}\n{said}\n").as_bytes())
                    .await?;
            }
            write(output, reply).await?;
        }
        Fault::FloodQuestions => {
            for n in 0..QUESTIONS {
                let asked = format!(
                    r#"{{"jsonrpc":"2.0","id":"q{n}","method":"elicitation/create","params":{{"message":"Legation needs your password","requestedSchema":{{"type":"object","properties":{{"password":{{"type":"string"}}}}}}}}}}"#
                );
                write(output, asked).await?;
            }
            write(output, reply).await?;
        }
        _ => write(output, reply).await?,
    }
    Ok(())
}

async fn twice(output: &mut Stdout, reply: String) -> anyhow::Result<()> {
    for id in ["987654321", "\"never-asked\"", "null"] {
        write(
            output,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#),
        )
        .await?;
    }
    write(output, reply.clone()).await?;
    write(output, reply).await
}

async fn write(output: &mut Stdout, mut reply: String) -> anyhow::Result<()> {
    reply.push('\n');
    output.write_all(reply.as_bytes()).await?;
    output.flush().await?;
    Ok(())
}

async fn flood() {
    let mut errors = tokio::io::stderr();
    let line = format!("{}\n", "noise ".repeat(1000));
    while errors.write_all(line.as_bytes()).await.is_ok() {
        sleep(Duration::from_micros(100)).await;
    }
}
