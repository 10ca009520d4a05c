//! A network with nothing in it but the loopback interface, and processes that all end with the test.
//!
//! The test starts itself once more in there, for the model service must be in the same network.

use std::env;
use std::process::Command;

const INSIDE: &str = "ARTEL_TEST_INSIDE";

/// Runs one test of this program, by its whole name, inside.
pub fn run<F: Future<Output = ()>>(name: &str, test: impl FnOnce() -> F) {
    if env::var_os(INSIDE).is_some() {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
        return runtime.block_on(test());
    }
    let inside = Command::new("bwrap")
        .args(["--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"])
        .args(["--unshare-net", "--unshare-pid", "--die-with-parent", "--"])
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
