//! A network with nothing in it but the loopback interface, and processes that all end with the test.
//!
//! The test starts itself once more in there, for the model service must be in the same network.

use std::env;
use std::process::Command;

const INSIDE: &str = "ARTEL_TEST_INSIDE";

/// Runs one test of this program, by its whole name, inside.
pub fn run<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    let walls = ["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-pid"];
    again(&walls, name, test);
}

/// The same for a test that makes sandboxes itself, which takes the processes as they are: only the network is another.
pub fn offline<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    again(&["--dev-bind", "/", "/"], name, test);
}

fn again<F: Future<Output = ()>>(walls: &[&str], name: &str, test: impl FnOnce() -> F) {
    if env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
        return runtime.block_on(test());
    }
    let inside = Command::new("bwrap")
        .args(walls)
        .args(["--unshare-net", "--die-with-parent", "--"])
        .arg(env::current_exe().expect("this program has a path"))
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("bwrap is missing: run scripts/setup.sh");
    let (out, err) =
        (String::from_utf8_lossy(&inside.stdout), String::from_utf8_lossy(&inside.stderr));
    assert!(inside.status.success(), "{out}\n{err}");
    // A name that fits no test would pass too.
    assert!(out.contains("1 passed"), "{out}\n{err}");
}
