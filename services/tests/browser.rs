// SPDX-License-Identifier: MIT OR Apache-2.0

//! Chromium, driven over the HTTP interface of its driver: in the long check, where `chromedriver`
//! is installed. With `ZONDA_SHOTS`, screenshots go to that directory.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// A limit for steps of a browser on a busy machine.
const LATE: Duration = Duration::from_secs(60);

/// Text that would run a script if it were markup.
pub const MARKUP: &str = "<img src=x onerror=\"document.title='owned'\">";

/// A browser behind its driver.
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
}

impl Browser {
    /// Starts it; `None` if it is not installed.
    pub fn start(arguments: &[&str]) -> Option<Browser> {
        let mut driver = Command::new("chromedriver");
        let driver = driver.arg("--port=0").stdout(Stdio::piped());
        let mut driver = driver.stderr(Stdio::null()).spawn().ok()?;
        let mut lines = BufReader::new(driver.stdout.take()?);
        let port = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "no port");
            if let Some((_, port)) = line.split_once("successfully on port ") {
                break port.trim().trim_end_matches('.').parse::<u16>().unwrap();
            }
        };
        let mut browser = Browser {
            driver,
            address: ([127, 0, 0, 1], port).into(),
            session: String::new(),
        };
        let options = [
            &["--headless=new", "--no-sandbox", "--disable-gpu"],
            arguments,
        ]
        .concat();
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": options},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let made = browser.post("/session", &wanted);
        let id = made["sessionId"].as_str();
        browser.session = format!("/session/{}", id.unwrap_or_else(|| panic!("{made}")));
        Some(browser)
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.request(
            "POST",
            &format!("{}{path}", self.session),
            &body.to_string(),
        )
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(LATE)).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut reader = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).unwrap();
            match line.to_ascii_lowercase().trim().split_once(':') {
                Some(("content-length", value)) => length = value.trim().parse().unwrap(),
                Some(_) => {}
                None if line.trim().is_empty() => break,
                None => {}
            }
        }
        let mut answer = vec![0; length];
        reader.read_exact(&mut answer).unwrap();
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        answer["value"].clone()
    }

    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({"script": script, "args": []}))
    }

    pub fn until(&self, what: &str, script: &str) {
        let begin = Instant::now();
        while self.run(script) != true {
            let text = || self.run("return document.body.innerText");
            assert!(begin.elapsed() < LATE, "{what}: {}", text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn shot(&self, name: &str) {
        use base64::Engine as _;
        let Some(directory) = std::env::var_os("ZONDA_SHOTS") else {
            return;
        };
        let path = format!("{}/screenshot", self.session);
        let image = self.request("GET", &path, "");
        let image = base64::engine::general_purpose::STANDARD.decode(image.as_str().unwrap());
        let place = std::path::Path::new(&directory).join(name);
        std::fs::write(place, image.unwrap()).unwrap();
    }
}

/// Starts a browser for a test of the long check; `None`, after a line, where there is none.
pub fn long_check() -> Option<Browser> {
    if std::env::var_os("ZONDA_LONG").is_none() {
        println!("skipped: a part of the long check");
        return None;
    }
    let browser = Browser::start(&["--window-size=1280,1000"]);
    if browser.is_none() {
        println!("skipped: chromedriver is not installed");
    }
    browser
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.request("DELETE", &self.session, "");
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
