//! Separate processes for the measured servers, so that no other work is counted. Reads `/proc`: Linux only.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::Outcome;

/// A server that is not ready after this time has failed.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A server that is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) ready_after: Duration,
}

impl Server {
    /// Starts `command` with a free address, and waits until `path` answers 200.
    pub(crate) fn start(path: &str, command: impl FnOnce(SocketAddr) -> Command) -> Outcome<Self> {
        // The port is free again at once, and on a quiet machine no other process takes it before the server does.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Self::start_at(address, path, command(address))
    }

    /// The same with a given address, for example of an earlier process.
    pub(crate) fn start_at(address: SocketAddr, path: &str, mut command: Command) -> Outcome<Self> {
        let started = Instant::now();
        let child = command.spawn()?;
        let mut server = Self { child, address, ready_after: Duration::ZERO };
        while !get(address, path).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            if let Some(status) = server.child.try_wait()? {
                return Err(format!("The server ended before it was ready: {status}.").into());
            }
            if started.elapsed() > START_TIMEOUT {
                return Err(
                    format!("{path} of {address} did not answer 200 within {} s.", START_TIMEOUT.as_secs()).into()
                );
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        server.ready_after = started.elapsed();
        Ok(server)
    }

    pub(crate) fn get(&self, path: &str) -> Outcome<String> {
        get(self.address, path)
    }

    /// The CPU time of the process so far, in the kernel's ticks. Mostly their ratios are used.
    pub(crate) fn ticks(&self) -> Outcome<u64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The program's name is in brackets and may contain any character. The times are the 14th and 15th field.
        let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
        let ticks = |index: usize| fields.split_whitespace().nth(index).and_then(|field| field.parse::<u64>().ok());
        match (ticks(11), ticks(12)) {
            (Some(user), Some(system)) => Ok(user + system),
            _ => Err(format!("/proc/{}/stat has an unknown format.", self.child.id()).into()),
        }
    }

    pub(crate) fn memory(&self) -> Outcome<Memory> {
        Memory::of(&self.child.id().to_string())
    }

    /// Like `kill -9`: the process cannot do anything more.
    pub(crate) fn kill(&mut self) -> Outcome<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory of a process, in bytes.
pub(crate) struct Memory {
    pub(crate) all: u64,
    /// Without the pages of its program and libraries, which the kernel can drop and read again.
    pub(crate) own: u64,
    /// The maximum of `all` so far.
    pub(crate) peak: u64,
}

impl Memory {
    /// `process` is an id, or `self`.
    pub(crate) fn of(process: &str) -> Outcome<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib * 1024)
        };
        match (field("VmRSS:"), field("RssAnon:"), field("VmHWM:")) {
            (Some(all), Some(own), Some(peak)) => Ok(Self { all, own, peak }),
            _ => Err(format!("/proc/{process}/status has an unknown format.").into()),
        }
    }
}

fn get(address: SocketAddr, path: &str) -> Outcome<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(START_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
