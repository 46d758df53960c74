//! The program as others start it.
//!
//! The system tells a process's memory in `/proc`, and `kill` is a word of the shell: there is no other way to either without `unsafe`.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fixture;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use oblivio_kernels::learn::Learner;

struct Server {
    process: Child,
    address: SocketAddr,
}

impl Server {
    fn start(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.oblivio"));
        let model = fixture::model(Learner::Ridge);
        std::fs::write(&path, model.to_bytes().unwrap()).unwrap();
        let mut process = Command::new(env!("CARGO_BIN_EXE_serve"))
            .arg(path)
            .arg("127.0.0.1:0")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut words = BufReader::new(process.stderr.take().unwrap());
        words.read_line(&mut line).unwrap();
        let address = line.trim().rsplit_once("http://").unwrap().1;
        Self {
            address: address.parse().unwrap(),
            process,
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).unwrap()
    }

    /// The most memory that the process has had so far, in kilobytes.
    fn peak(&self) -> usize {
        let status = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(status).unwrap();
        let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn head(path: &str, length: usize, more: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more}Content-Length: {length}\r\n\r\n"
    )
}

fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Few bytes can stand for many values. As general JSON values, any of these would take more than 60 MB.
#[test]
fn memory_stays_in_proportion_to_the_bytes_of_a_request() {
    let server = Server::start("memory");
    let filled = |part: &str, ends: [&str; 2]| {
        let parts = vec![part; (4 << 20) / (part.len() + 1) - 10];
        format!("{}{}{}", ends[0], parts.join(","), ends[1])
    };
    let cases = [
        ("/batch", filled("{\"\":0}", ["[", "]"]), "413"),
        ("/predict", filled("0", ["{\"hours\":[", "]}"]), "422"),
        ("/batch", filled("[]", ["[{\"hours\":[", "]}]"]), "422"),
    ];
    let before = server.peak();
    for (path, body, status) in cases {
        let mut stream = server.connect();
        stream
            .write_all(head(path, body.len(), "").as_bytes())
            .unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let answer = answer(stream);
        assert_eq!(&answer[9..12], status, "{answer}");
        let grown = server.peak() - before;
        assert!(grown < 30_000, "{path}: {grown} kB more");
    }
}

/// Service managers ask with this signal, and take any other end for a failure.
#[test]
fn a_signal_ends_the_server_well() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start(&format!("signal-{signal}"));
        let idle = server.connect();
        let process = server.process.id().to_string();
        let kill = Command::new("kill").args(["-s", signal, &process]).status();
        assert!(kill.unwrap().success());
        drop(idle);
        assert!(server.process.wait().unwrap().success(), "{signal}");
    }
}
