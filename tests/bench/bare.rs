//! The baseline for the bot: an axum handler that returns a constant answer.
//! It runs as its own process, from this benchmark's program.

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::{get, post};

use crate::Outcome;
use crate::process::Server;

pub(crate) const ARGUMENT: &str = "--serve-bare";

/// Starts the process. It answers every command and report with `answer`.
pub(crate) fn start(answer: &[u8]) -> Outcome<Server> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(answer)?;
    let program = std::env::current_exe()?;
    Server::start("/readyz", |address| {
        let mut command = Command::new(program);
        command.arg(ARGUMENT).arg(address.to_string()).arg(file.path()).stdin(Stdio::null());
        command
    })
}

/// The main function of that process. Its runtime, listener and router are built like Gantry's.
pub(crate) fn serve() -> Outcome<()> {
    let mut arguments = std::env::args().skip_while(|argument| argument != ARGUMENT).skip(1);
    let (Some(address), Some(file)) = (arguments.next(), arguments.next()) else {
        return Err("An address and a file with the answer are needed.".into());
    };
    let mut answer = Vec::new();
    std::fs::File::open(file)?.read_to_end(&mut answer)?;
    let answer = Bytes::from(answer);
    let handler = move || {
        let answer = answer.clone();
        async move { ([(header::CONTENT_TYPE, "application/json")], answer) }
    };
    let router = Router::new()
        .route("/readyz", get(|| async { "ok\n" }))
        .route("/slack/commands", post(handler.clone()))
        .route("/webhooks/flux/{environment}", post(handler));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address.parse::<SocketAddr>()?).await?;
        axum::serve(listener, router).await?;
        Ok(())
    })
}
