//! Slack's requests of `/list checkout`: signed, on kept-alive connections, each after the previous answer.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use gantry::clock::Clock;
use gantry::sim::world::SIGNING_SECRET;
use hmac::{Hmac, Mac};
use sha2::Sha256;

use crate::Outcome;

/// The number of different requests. They are made before the measurement.
const VARIANTS: usize = 64;

/// Signed requests, valid for five minutes.
pub(crate) struct Requests(Vec<Vec<u8>>);

impl Requests {
    pub(crate) fn sign(text: &str) -> Outcome<Self> {
        let timestamp = Clock::new_system().now().as_second();
        (0..VARIANTS).map(|number| request("/list", text, timestamp, number)).collect::<Outcome<_>>().map(Self)
    }
}

/// A slash command as Slack sends it. Each number makes another request.
pub(crate) fn request(command: &str, text: &str, timestamp: i64, number: usize) -> Outcome<Vec<u8>> {
    let body = form_urlencoded::Serializer::new(String::new())
        .append_pair("token", "gIkuvaNzQIHg97ATvDxqgjtO")
        .append_pair("team_id", "T0ACME")
        .append_pair("team_domain", "acme")
        .append_pair("channel_id", "C0DEPLOYS")
        .append_pair("channel_name", "deploys")
        .append_pair("user_id", "U0ALICE")
        .append_pair("user_name", "alice")
        .append_pair("command", command)
        .append_pair("text", text)
        .append_pair("api_app_id", "A0GANTRY")
        .append_pair("is_enterprise_install", "false")
        .append_pair("response_url", &format!("https://hooks.slack.com/commands/T0ACME/{number}/7ca3bd1a6c6a0a9c"))
        .append_pair("trigger_id", &format!("13345224609.738474920.{number:032x}"))
        .finish();
    let mut mac = Hmac::<Sha256>::new_from_slice(SIGNING_SECRET.as_bytes())?;
    mac.update(format!("v0:{timestamp}:{body}").as_bytes());
    let mut signature = String::new();
    for byte in mac.finalize().into_bytes() {
        write!(signature, "{byte:02x}")?;
    }
    let request = format!(
        "POST /slack/commands HTTP/1.1\r\nHost: gantry.example.com\r\nUser-Agent: Slackbot 1.0 (+https://api.slack.com/robots)\r\n\
         Accept-Encoding: gzip,deflate\r\nAccept: application/json,*/*\r\nX-Slack-Signature: v0={signature}\r\n\
         X-Slack-Request-Timestamp: {timestamp}\r\nContent-Length: {}\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
        body.len()
    );
    Ok(request.into_bytes())
}

/// A kept-alive connection.
pub(crate) struct Connection {
    stream: TcpStream,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, answer: Vec::with_capacity(16 * 1024) })
    }

    /// Sends one request and returns the body of its answer. Any status but 200 is an error.
    pub(crate) fn send_expecting_ok(&mut self, request: &[u8]) -> Outcome<&[u8]> {
        let (status, body) = self.exchange(request)?;
        if status == 200 { Ok(body) } else { Err(format!("The answer has the status {status} instead of 200.").into()) }
    }

    /// Sends one request and returns the status and body of its answer.
    pub(crate) fn exchange(&mut self, request: &[u8]) -> Outcome<(u16, &[u8])> {
        self.stream.write_all(request)?;
        self.answer.clear();
        let mut block = [0; 16 * 1024];
        loop {
            let read = self.stream.read(&mut block)?;
            if read == 0 {
                return Err("The connection was closed before the end of an answer.".into());
            }
            self.answer.extend_from_slice(&block[..read]);
            let Some((status, start, length)) = head(&self.answer)? else { continue };
            if self.answer.len() >= start + length {
                return Ok((status, &self.answer[start..start + length]));
            }
        }
    }
}

/// The status, and the start and length of the body, once the whole head has arrived.
fn head(answer: &[u8]) -> Outcome<Option<(u16, usize, usize)>> {
    let Some(end) = answer.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
    let head = std::str::from_utf8(&answer[..end])?.to_ascii_lowercase();
    let status = head.strip_prefix("http/1.1 ").and_then(|rest| rest.split_whitespace().next());
    let status = status.ok_or("The answer is not HTTP 1.1.")?.parse()?;
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length:")).ok_or("The answer has no length.")?;
    Ok(Some((status, end + 4, length.trim().parse()?)))
}

/// Sends one request on a new connection.
pub(crate) fn send_once(address: SocketAddr, requests: &Requests) -> Outcome<Vec<u8>> {
    Ok(Connection::open(address)?.send_expecting_ok(&requests.0[0])?.to_vec())
}

/// Sends `times` requests on each of `connections` at once. Every answer must have about `expected` bytes: the ages in
/// it may get another digit.
pub(crate) fn run(
    address: SocketAddr,
    requests: &Requests,
    connections: usize,
    times: usize,
    expected: usize,
) -> Outcome<()> {
    let run_connection = |first: usize| -> Result<(), String> {
        let send_all = || -> Outcome<()> {
            let mut connection = Connection::open(address)?;
            for request in requests.0.iter().cycle().skip(first).take(times) {
                let length = connection.send_expecting_ok(request)?.len();
                if length.abs_diff(expected) > 64 {
                    return Err(format!("An answer has {length} bytes instead of about {expected}.").into());
                }
            }
            Ok(())
        };
        send_all().map_err(|error| error.to_string())
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..connections).map(|first| scope.spawn(move || run_connection(first))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err("A connection panicked.".to_owned()))).collect()
    });
    results.into_iter().collect::<Result<(), String>>().map_err(Into::into)
}
