//! A headless Chromium that is told what to do by the DevTools protocol: messages of JSON, each ended by a zero, over its descriptors 3 and 4.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing takes so long, even where a machine is busy.
const PATIENCE: Duration = Duration::from_secs(300);

/// A browser with one page.
pub(super) struct Browser {
    process: Child,
    requests: ChildStdin,
    messages: Receiver<Value>,
    /// What was told that nobody asked for.
    events: Vec<Value>,
    sent: u64,
    session: Option<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Opens a file and waits until it is loaded.
    pub(super) fn open(page: &Path) -> Browser {
        let (profile, browser) = (tempfile::tempdir().unwrap(), program());
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>&1"]).arg(&browser);
        shell.args(["--headless", "--no-sandbox", "--no-zygote", "--disable-gpu", "--remote-debugging-pipe"]);
        shell.arg("--disable-background-networking");
        shell.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        let mut process = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (requests, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (send, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                drop(send.send(serde_json::from_slice(&message).unwrap()));
            }
        });
        let mut browser =
            Browser { process, requests, messages, events: Vec::new(), sent: 0, session: None, _profile: profile };
        let target = browser.call("Target.createTarget", &json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", &json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        browser.call("Page.setLifecycleEventsEnabled", &json!({ "enabled": true }));
        let navigated = browser.call("Page.navigate", &json!({ "url": format!("file://{}", page.display()) }));
        // The blank page before it is loaded, too, and may tell so late.
        let is_loaded = |event: &Value| {
            let about = &event["params"];
            event["method"] == "Page.lifecycleEvent"
                && about["name"] == "load"
                && about["loaderId"] == navigated["loaderId"]
        };
        while !browser.events.iter().any(is_loaded) {
            let event = browser.receive();
            browser.events.push(event);
        }
        browser
    }

    /// What an expression of JavaScript comes to.
    pub(super) fn value(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Clicks where the first element of a selector stands, as a mouse does.
    pub(super) fn click(&mut self, selector: &str) {
        let place = format!(
            "(() => {{ const found = document.querySelector({selector:?}); found.scrollIntoView({{ block: 'center', behavior: 'instant' }}); \
             const box = found.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        );
        let place = self.value(&place);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", &event);
        }
    }

    /// Calls a method of the protocol.
    pub(super) fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.sent += 1;
        let mut request = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            request["sessionId"] = session.clone().into();
        }
        self.requests.write_all(format!("{request}\0").as_bytes()).unwrap_or_else(|_| panic!("{MISSING}"));
        loop {
            let message = self.receive();
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    fn receive(&self) -> Value {
        self.messages.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{MISSING}"))
    }

    /// What the page has asked for.
    pub(super) fn requests(&self) -> Vec<String> {
        let asked = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        asked.map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Exceptions, and what stands in the console.
    pub(super) fn complaints(&self) -> Vec<&Value> {
        let told = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        self.events.iter().filter(|event| told.iter().any(|method| event["method"] == *method)).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

const MISSING: &str = "Chromium does not answer: `cargo xtask chromium` installs one into target/, which is found there; \
                       another one is named by the environment variable DIETCODE_CHROMIUM";

/// Where `cargo xtask test` says that it is, or where it was installed.
fn program() -> PathBuf {
    let installed = || Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("chromium").join("chromium");
    std::env::var_os("DIETCODE_CHROMIUM").map_or_else(installed, PathBuf::from)
}
