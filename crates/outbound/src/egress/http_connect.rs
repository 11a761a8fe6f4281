//! Connections through an HTTP proxy, by CONNECT.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::BoxedStream;

/// How many bytes the proxy's answer may have, as in the reference.
const LARGEST_HEAD: usize = 1 << 20;
/// How much of a line is shown in messages.
const MOST_SHOWN: usize = 256;
/// A proxy that cannot connect answers much earlier.
const PATIENCE: Duration = Duration::from_secs(30);

/// Makes a connection to the proxy one to `to`.
pub(super) async fn request(mut stream: BoxedStream, proxy: &str, to: &str) -> Result<BoxedStream, String> {
    let asked = tokio::time::timeout(PATIENCE, ask(&mut stream, to)).await;
    let answer = asked.unwrap_or_else(|_| Err("i/o timeout".into())).map_err(|why| {
        format!("reading HTTP response from CONNECT to {to} via proxy {proxy} failed: {why}")
    })?;
    if answer.code != 200 {
        let Answer { code, status, .. } = answer;
        return Err(format!("proxy error from {proxy} while dialing {to}, code {code}: {status}"));
    }
    // Servers behind a proxy wait for the client's first bytes.
    if answer.spare > 0 {
        return Err(format!(
            "unexpected {} bytes of buffered data from CONNECT proxy {}",
            answer.spare,
            pintle_meta::quote(proxy)
        ));
    }
    Ok(stream)
}

struct Answer {
    code: u16,
    /// The code and its words.
    status: String,
    /// How much came after the head.
    spare: usize,
}

async fn ask(stream: &mut BoxedStream, to: &str) -> Result<Answer, String> {
    let request = format!("CONNECT {to} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(|error| reason(&error))?;
    stream.flush().await.map_err(|error| reason(&error))?;
    let mut head = Head::default();
    let mut chunk = [0; 4096];
    loop {
        let most = chunk.len().min(LARGEST_HEAD - head.read);
        let read = stream.read(&mut chunk[..most]).await.map_err(|error| reason(&error))?;
        if read == 0 {
            return Err("unexpected EOF".into());
        }
        head.read += read;
        if let Some(answer) = head.take(&chunk[..read])? {
            return Ok(answer);
        }
    }
}

/// The part of the response's head that was read. Only its first line has a meaning; the others must be lines.
#[derive(Default)]
struct Head {
    read: usize,
    line: Vec<u8>,
    status: Option<(u16, String)>,
}

impl Head {
    /// Takes what came next; the answer if the head is complete.
    fn take(&mut self, chunk: &[u8]) -> Result<Option<Answer>, String> {
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            if self.line.last() == Some(&b'\r') {
                self.line.pop();
            }
            let line = String::from_utf8_lossy(&self.line).into_owned();
            self.line.clear();
            match self.status.take() {
                None => self.status = Some(status(&line)?),
                Some((code, status)) if line.is_empty() => {
                    return Ok(Some(Answer { code, status, spare: rest.len() }));
                }
                Some(_) if !line.contains(':') && !line.starts_with([' ', '\t']) => {
                    return Err(format!("malformed MIME header line: {}", shortened(&line)));
                }
                status => self.status = status,
            }
        }
        self.line.extend_from_slice(rest);
        Ok(None)
    }
}

/// `HTTP/1.1 200 Connection established`, taken apart as Go does it.
fn status(line: &str) -> Result<(u16, String), String> {
    let bad =
        |what: &str, text: &str| format!("malformed HTTP {what} {}", pintle_meta::quote(shortened(text)));
    let (version, status) = line.split_once(' ').ok_or_else(|| bad("response", line))?;
    let status = status.trim_start_matches(' ');
    let code = status.split(' ').next().unwrap_or_default();
    let number = Some(code).filter(|code| code.len() == 3).and_then(|code| code.parse().ok());
    let number = number.ok_or_else(|| bad("status code", code))?;
    let digits = version.strip_prefix("HTTP/").map(str::as_bytes);
    if !matches!(digits, Some([b'0'..=b'9', b'.', b'0'..=b'9'])) {
        return Err(bad("version", version));
    }
    Ok((number, shortened(status).to_owned()))
}

fn shortened(text: &str) -> &str {
    let end = (0..=MOST_SHOWN.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionReset => "read: connection reset by peer".into(),
        io::ErrorKind::BrokenPipe => "write: broken pipe".into(),
        io::ErrorKind::UnexpectedEof => "unexpected EOF".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of a response that is read in pieces of this size.
    fn found(answer: &[u8], piece: usize) -> Result<Option<(u16, usize)>, String> {
        let mut head = Head::default();
        for piece in answer.chunks(piece) {
            if let Some(answer) = head.take(piece)? {
                return Ok(Some((answer.code, answer.spare)));
            }
        }
        Ok(None)
    }

    #[test]
    fn an_answer_is_the_same_in_any_pieces() {
        let whole = b"HTTP/1.1 200 Connection established\r\nA: b\r\n c\r\n\r\n";
        for piece in 1..=whole.len() {
            assert_eq!(found(whole, piece), Ok(Some((200, 0))), "{piece}");
        }
        assert_eq!(found(b"HTTP/1.0 403  No\n\n", 4), Ok(Some((403, 0))));
        assert_eq!(found(b"HTTP/1.1 200 OK\r\n\r\nmore", 100), Ok(Some((200, 4))));
        assert_eq!(found(b"HTTP/1.1 200 OK\r\nA: b\r\n", 100), Ok(None));
    }

    #[test]
    fn a_malformed_answer_is_shown_in_part() {
        let error = |answer: &str| found(answer.as_bytes(), 7).unwrap_err();
        assert_eq!(error("garbage\n"), "malformed HTTP response \"garbage\"");
        assert_eq!(error("SSH-2.0-x y\n"), "malformed HTTP status code \"y\"");
        assert_eq!(error("HTTP/1.1 20 x\n"), "malformed HTTP status code \"20\"");
        assert_eq!(error("HTTP/1.1 -20 x\n"), "malformed HTTP status code \"-20\"");
        assert_eq!(error("HTTQ/1.1 200 x\n"), "malformed HTTP version \"HTTQ/1.1\"");
        assert_eq!(error("HTTP/1.1 200 x\r\nnonsense\r\n"), "malformed MIME header line: nonsense");
        assert!(error(&format!("{}\n", "ü".repeat(10_000))).len() < 1000);
    }
}
