//! A client at the other end of two byte streams, with one message per line.
//!
//! Invalid messages are answered here; a session gets only valid ones. An array of messages is split, and its answers are
//! returned in one array.

use std::io;

use tokio::{
    io::{AsyncBufRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc,
};

use crate::{
    channel::Channel,
    lines::{LineRead, read_line, write_batch, write_line},
    message::{Envelope, Frame, INVALID_REQUEST, Id, Malformed, Message, read_client},
};

/// Maximum number of refusals that wait to be written before reading stops.
const REFUSED_MAX: usize = 16;

/// Message from the reader to the writer.
enum WriterMessage {
    /// An invalid message, with its answer.
    Refused(Envelope),
    /// An array of requests, whose answers belong together.
    Batch(Batch),
    /// A request that was cancelled and will not be answered.
    CalledOff(Id),
}

/// An array of messages that is being answered.
struct Batch {
    waiting: Vec<Id>,
    ready: Vec<Envelope>,
}

/// Forwards messages between a client and `link` until either of them is gone.
///
/// After the client has closed its input, open requests are still answered.
///
/// # Errors
/// The streams cannot be read or written.
pub async fn serve(
    reader: impl tokio::io::AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    link: Channel,
    bytes_max: usize,
) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(65_536, reader);
    let Channel {
        outgoing,
        mut incoming,
    } = link;
    let (tell, mut told) = mpsc::channel(REFUSED_MAX);
    let reading = async {
        let read = read_all(&mut reader, &outgoing, &tell, bytes_max).await;
        // This tells the session that the client is gone.
        drop((outgoing, tell));
        read
    };
    let writing = async { write_all(&mut writer, &mut incoming, &mut told).await };
    tokio::pin!(reading, writing);
    tokio::select! {
        written = &mut writing => written,
        read = &mut reading => {
            let written = writing.await;
            read.and(written)
        }
    }
}

async fn read_all(
    reader: &mut (impl AsyncBufRead + Unpin),
    session: &mpsc::Sender<Envelope>,
    tell: &mpsc::Sender<WriterMessage>,
    bytes_max: usize,
) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        let frame = match read_line(reader, &mut line, bytes_max).await? {
            LineRead::End => return Ok(()),
            LineRead::Whole if line.trim_ascii().is_empty() => continue,
            LineRead::Whole => read_client(&line),
            LineRead::TooLong => Err(Malformed {
                code: INVALID_REQUEST,
                message: format!("the message is longer than {bytes_max} bytes"),
                id: None,
            }),
        };
        let envelopes = match frame {
            Ok(Frame::One(envelope)) => vec![envelope],
            Ok(Frame::Batch(several)) => {
                let (batch, envelopes) = taken_apart(several);
                if tell.send(WriterMessage::Batch(batch)).await.is_err() {
                    return Ok(());
                }
                envelopes
            }
            Err(malformed) => {
                if tell
                    .send(WriterMessage::Refused(malformed.answer()))
                    .await
                    .is_err()
                {
                    return Ok(());
                }
                continue;
            }
        };
        for envelope in envelopes {
            if let Some(id) = called_off(&envelope)
                && tell.send(WriterMessage::CalledOff(id)).await.is_err()
            {
                return Ok(());
            }
            if session.send(envelope).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// Returns the request that a message cancels.
fn called_off(envelope: &Envelope) -> Option<Id> {
    match &envelope.message {
        Message::Notification(told) if told.method == "notifications/cancelled" => {
            Id::from_value(told.params.as_ref()?.get("requestId")?)
        }
        _ => None,
    }
}

fn taken_apart(several: Vec<Result<Envelope, Malformed>>) -> (Batch, Vec<Envelope>) {
    let mut batch = Batch {
        waiting: Vec::new(),
        ready: Vec::new(),
    };
    let mut envelopes = Vec::new();
    for one in several {
        match one {
            Ok(envelope) => {
                if let Message::Request(request) = &envelope.message {
                    batch.waiting.push(request.id.clone());
                }
                envelopes.push(envelope);
            }
            Err(malformed) => batch.ready.push(malformed.answer()),
        }
    }
    (batch, envelopes)
}

async fn write_all(
    writer: &mut (impl AsyncWrite + Unpin),
    session: &mut mpsc::Receiver<Envelope>,
    told: &mut mpsc::Receiver<WriterMessage>,
) -> io::Result<()> {
    let (mut buffer, mut batches) = (Vec::new(), Vec::new());
    let mut reading = true;
    loop {
        tokio::select! {
            // The writer learns of an array before its answers arrive.
            biased;
            what = told.recv(), if reading => match what {
                Some(WriterMessage::Refused(envelope)) => write_line(writer, &mut buffer, &envelope).await?,
                Some(WriterMessage::Batch(batch)) => {
                    batches.push(batch);
                    write_answered(writer, &mut buffer, &mut batches).await?;
                }
                Some(WriterMessage::CalledOff(id)) => {
                for batch in &mut batches {
                    batch.waiting.retain(|waiting| *waiting != id);
                }
                write_answered(writer, &mut buffer, &mut batches).await?;
            }
                None => reading = false,
            },
            envelope = session.recv() => match envelope {
                Some(envelope) => match claimed(&mut batches, envelope) {
                    Some(envelope) => write_line(writer, &mut buffer, &envelope).await?,
                    None => write_answered(writer, &mut buffer, &mut batches).await?,
                },
                None => {
                    // Nobody will answer what is still open: write the answers that there are.
                    batches.iter_mut().for_each(|batch| batch.waiting.clear());
                    write_answered(writer, &mut buffer, &mut batches).await?;
                    return writer.flush().await;
                }
            },
        }
        if session.is_empty() {
            writer.flush().await?;
        }
    }
}

/// Adds an answer to the array that waits for it, or returns it.
fn claimed(batches: &mut [Batch], envelope: Envelope) -> Option<Envelope> {
    let Message::Response(response) = &envelope.message else {
        return Some(envelope);
    };
    let id = response.id.as_ref();
    let waits = |batch: &Batch| batch.waiting.iter().position(|waiting| Some(waiting) == id);
    for batch in batches {
        if let Some(at) = waits(batch) {
            batch.waiting.swap_remove(at);
            batch.ready.push(envelope);
            return None;
        }
    }
    Some(envelope)
}

async fn write_answered(
    writer: &mut (impl AsyncWrite + Unpin),
    buffer: &mut Vec<u8>,
    batches: &mut Vec<Batch>,
) -> io::Result<()> {
    while let Some(at) = batches.iter().position(|batch| batch.waiting.is_empty()) {
        let batch = batches.swap_remove(at);
        if !batch.ready.is_empty() {
            write_batch(writer, buffer, &batch.ready).await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed test panics")]

    use serde_json::{Value, json};
    use tokio::{
        io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex},
        sync::mpsc,
    };

    use super::{Channel, Frame, read_client, serve};

    /// The client's ends of its streams, and the session's ends of its channels.
    struct Between {
        typed: tokio::io::DuplexStream,
        shown: tokio::io::Lines<BufReader<tokio::io::DuplexStream>>,
        asked: mpsc::Receiver<crate::message::Envelope>,
        answers: mpsc::Sender<crate::message::Envelope>,
    }

    impl Between {
        fn new() -> Self {
            let (typed, reader) = duplex(65_536);
            let (writer, shown) = duplex(65_536);
            let (outgoing, asked) = mpsc::channel(16);
            let (answers, incoming) = mpsc::channel(16);
            let link = Channel { outgoing, incoming };
            tokio::spawn(async move { serve(reader, writer, link, 65_536).await });
            let shown = BufReader::new(shown).lines();
            Self {
                typed,
                shown,
                asked,
                answers,
            }
        }

        async fn says(&mut self, text: &Value) {
            let line = format!("{text}\n");
            self.typed.write_all(line.as_bytes()).await.unwrap();
        }

        async fn answers(&self, id: u64) {
            let text = json!({"jsonrpc": "2.0", "id": id, "result": {}}).to_string();
            let Ok(Frame::One(envelope)) = read_client(text.as_bytes()) else {
                return;
            };
            self.answers.send(envelope).await.unwrap();
        }

        async fn shown(&mut self) -> Value {
            let line = self.shown.next_line().await.unwrap().unwrap();
            serde_json::from_str(&line).unwrap()
        }
    }

    fn call(id: u64) -> Value {
        json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
    }

    #[tokio::test]
    async fn a_batch_waits_for_no_request_that_was_called_off() {
        let mut between = Between::new();
        between.says(&json!([call(1), call(2)])).await;
        between.asked.recv().await.unwrap();
        between.asked.recv().await.unwrap();
        between.answers(1).await;
        let off = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
        between.says(&off).await;
        let shown = between.shown().await;
        assert_eq!(shown, json!([{"jsonrpc": "2.0", "id": 1, "result": {}}]));
        assert!(
            between.asked.recv().await.is_some(),
            "the session hears of it"
        );
    }

    #[tokio::test]
    async fn what_is_ready_is_told_when_the_session_ends() {
        let mut between = Between::new();
        between.says(&json!([call(1), call(2)])).await;
        between.asked.recv().await.unwrap();
        between.answers(1).await;
        let (none, _) = mpsc::channel(1);
        drop(std::mem::replace(&mut between.answers, none));
        let shown = between.shown().await;
        assert_eq!(shown, json!([{"jsonrpc": "2.0", "id": 1, "result": {}}]));
    }
}
