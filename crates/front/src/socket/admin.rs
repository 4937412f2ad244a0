//! The owner's commands on the socket: one JSON-RPC request a line, answered by
//! whoever put the hub together.

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{BoxStream, SelectAll};
use legation_core::SeatId;
use legation_wire::codes;
use legation_wire::json::Limits;
use legation_wire::message::{ErrorObject, Message, Request};
use tokio::sync::Notify;

use super::lines::{Lines, Reader, left_out_bytes, write_out};
use crate::access::AdminItem;
use crate::intake::error_bytes;
use crate::outbox::{Outbox, Weight};
use crate::shared::{Held, Shared};

/// Past this many requests under way, no more are read.
const RUNNING_MAX: usize = 64;

/// Serves the owner until either side ends it.
pub(super) async fn serve(shared: &Held, lines: Lines, seat: &SeatId) {
    let Lines {
        mut reader,
        mut writer,
    } = lines;
    let (outbox, room) = (Outbox::plain(), Notify::new());
    let mut writing = std::pin::pin!(write_out(
        &mut writer,
        &outbox,
        &room,
        shared.settings.write_timeout
    ));
    tokio::select! {
        () = &mut writing => return,
        () = read_all((shared, seat), &mut reader, &outbox, &room) => {}
        _ = shared.cancel.cancelled() => {}
    }
    outbox.finish();
    writing.await;
}

async fn read_all(
    (shared, seat): (&Shared, &SeatId),
    reader: &mut Reader,
    outbox: &Outbox,
    room: &Notify,
) {
    let mut running: SelectAll<BoxStream<'static, Bytes>> = SelectAll::new();
    let mut open = true;
    while open || !running.is_empty() {
        while let Some(line) = reader.line().transpose() {
            let line = match line {
                Ok(line) => line,
                Err(line) => {
                    outbox.push(left_out_bytes(&line), Weight::Answer);
                    continue;
                }
            };
            match Message::parse_one(&line, &Limits::CLIENT) {
                Ok(Message::Request(request)) => {
                    running.push(answer((shared, seat), request));
                }
                Ok(Message::Notification(_) | Message::Response(_)) => {}
                Err(error) => {
                    outbox.push(
                        error_bytes(error.id.clone(), error.to_error()),
                        Weight::Answer,
                    );
                }
            }
        }
        let has_room = outbox.has_room();
        tokio::select! {
            Some(message) = running.next(), if has_room => {
                outbox.push(message, Weight::Answer);
            }
            filled = reader.fill(), if open && has_room && running.len() < RUNNING_MAX => match filled {
                Ok(more) => open = more,
                Err(_) => return,
            },
            () = room.notified(), if !has_room => {}
        }
    }
}

/// What a request leads to, as messages.
fn answer((shared, seat): (&Shared, &SeatId), request: Request) -> BoxStream<'static, Bytes> {
    let items = shared.admin.handle(seat, &request.method, request.params);
    let id = request.id;
    let unanswered = id.clone();
    let mut answered = false;
    items
        .map(Some)
        // A handler that ends without an answer must not leave the command waiting.
        .chain(futures_util::stream::once(std::future::ready(None)))
        .filter_map(move |item| {
            let message = match item {
                Some(AdminItem::Notification { method, params }) => {
                    Some(Message::notification(&method, Some(params)).to_bytes())
                }
                Some(AdminItem::Done(body)) if !answered => {
                    answered = true;
                    Some(Message::response(id.clone(), body).to_bytes())
                }
                Some(AdminItem::Done(_)) => None,
                None if answered => None,
                None => {
                    let error = ErrorObject::new(
                        codes::INTERNAL_ERROR,
                        "the request was given up without an answer",
                    );
                    Some(error_bytes(Some(unanswered.clone()), error))
                }
            };
            std::future::ready(message)
        })
        .boxed()
}
