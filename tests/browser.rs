//! A headless Chromium, driven through the pipe of its DevTools protocol: messages are JSON, each ended by a zero byte.
//! The dozen calls of the tests need no WebSocket and no client crate.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// Longer than any page takes here on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

/// The axe-core fetched by `scripts/setup test`.
pub fn axe() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")))?;
    let entries = std::fs::read_dir(cache.join("mountmark-tests")).ok()?.flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|end| end == "js")).max()
}

/// A browser with one page, terminated on drop.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: String,
    next: u64,
    /// Errors of the page since it was opened: exceptions, console errors, failed requests.
    pub errors: Vec<String>,
    _profile: TempDir,
}

impl Browser {
    /// Starts it; `None` if there is no browser.
    pub fn start() -> Option<Browser> {
        let program = ["chromium", "chromium-browser", "google-chrome"].into_iter().find_map(which)?;
        let profile = tempfile::Builder::new().prefix("mountmark-browser-").tempdir().expect("a temporary folder");
        let (to_browser, to) = pipe();
        let (from, from_browser) = pipe();
        let mut command = Command::new(program);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (input, output) = (to_browser.as_raw_fd(), from_browser.as_raw_fd());
        // SAFETY: between fork and exec only dup2 and fcntl are called, which are async-signal-safe. The pipes' own
        // descriptors are moved first, as one of them may be 3 or 4.
        unsafe {
            command.pre_exec(move || {
                let high =
                    [libc::fcntl(input, libc::F_DUPFD_CLOEXEC, 10), libc::fcntl(output, libc::F_DUPFD_CLOEXEC, 10)];
                if high.iter().any(|fd| *fd < 0) || libc::dup2(high[0], 3) < 0 || libc::dup2(high[1], 4) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                Ok(())
            });
        }
        let child = command.spawn().expect("the browser starts");
        drop((to_browser, from_browser));
        let (sender, receiver) = channel();
        thread::spawn(move || {
            for message in BufReader::new(File::from(from)).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { continue };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Browser {
            child,
            to: File::from(to),
            from: receiver,
            session: String::new(),
            next: 0,
            errors: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and waits for its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.to.write_all(&bytes).expect("the browser listens");
        let begin = Instant::now();
        loop {
            let message = self.receive(begin, method);
            if message["id"] == id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.notice(&message);
        }
    }

    fn receive(&mut self, begin: Instant, what: &str) -> Value {
        let left = LIMIT.saturating_sub(begin.elapsed());
        self.from.recv_timeout(left).unwrap_or_else(|error| panic!("the browser has not answered {what}: {error}"))
    }

    /// Records forbidden events of a page.
    fn notice(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.errors.push(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                self.errors.push(parameters["args"].to_string())
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                self.errors.push(parameters["entry"].to_string())
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if !url.starts_with("file:") && !url.starts_with("data:") && !url.starts_with("about:") {
                    self.errors.push(format!("asks for {url}"));
                }
            }
            _ => {}
        }
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, path: &Path) {
        self.errors.clear();
        let url = format!("file://{}", path.display());
        let begin = Instant::now();
        let opened = self.call("Page.navigate", json!({"url": url}));
        assert!(opened["errorText"].is_null(), "{url}: {opened}");
        loop {
            let event = self.receive(begin, "Page.navigate");
            self.notice(&event);
            if event["method"] == "Page.loadEventFired" {
                return;
            }
        }
    }

    /// The value of an expression in the page.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].clone()
    }

    /// Sets the width of the page and the reader's colour scheme.
    pub fn show(&mut self, width: u32, scheme: &str) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Whether pages opened from now on run scripts.
    pub fn scripts(&mut self, run: bool) {
        self.call("Emulation.setScriptExecutionDisabled", json!({"value": !run}));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The read end and the write end; neither is inherited.
fn pipe() -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: the array has space for two; the descriptors are new and have no other owner.
    unsafe {
        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), 0, "pipe2: {}", std::io::Error::last_os_error());
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}
