//! Links that are swapped in between check and use.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::yard::{
    CANARY, Yard, edit, everything, list, list_all, read, search, told, write, write_with_folders,
};

/// How many there are of operations and, at least, of swaps meanwhile; `ARTEL_TEST_SWAPS` sets another number.
const OPERATIONS: usize = 2_000;

/// TL-6.1: a folder and a link to outside change places, and so do a file and a link, again and again, while every
/// tool works there. Nothing outside is read or changed.
#[test]
fn a_link_swapped_in_between_leads_nowhere() {
    let number = std::env::var_os("ARTEL_TEST_SWAPS");
    let operations = number.map_or(OPERATIONS, |number| number.to_str().unwrap().parse().unwrap());
    let yard = Yard::new();
    yard.put("swap/file.txt", "inside");
    yard.put("swap/sub/file.txt", "inside");
    yard.put("file.txt", "inside");
    yard.link("link", &yard.outside);
    yard.link("file-link", yard.outside.join("file.txt"));
    let requests = [
        everything("swap/file.txt"),
        everything("file.txt"),
        everything("swap/sub/../file.txt"),
        vec![
            list("swap"),
            list_all("."),
            list_all("swap"),
            search(".", CANARY),
            search("swap", CANARY),
            read("swap/canary.txt"),
            read("swap/canary-folder/file.txt"),
            edit("swap/file.txt", "inside", "edited"),
            write("swap/new.txt", "overwritten"),
            write_with_folders("swap/new/folder/file.txt", "overwritten"),
        ],
    ]
    .concat();

    let (over, swaps) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let swapper = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                swap(&yard);
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _over = Ending(&over);
        let mut done = 0;
        while (done < operations || swaps.load(Ordering::Relaxed) < operations)
            && !swapper.is_finished()
        {
            let request = &requests[done % requests.len()];
            // The path that was asked for may come back in an error or a diff.
            let outcome = told(&yard.run(request)).replace("swap/canary", "");
            assert!(!outcome.contains(CANARY), "{request:?}: {outcome}");
            if let Ok(preview) = yard.prepare(request) {
                assert!(!preview.diff.contains(CANARY), "{request:?}: {preview:?}");
            }
            done += 1;
        }
    });
    yard.assert_outside_is_untouched();
    assert!(yard.names().iter().all(|name| !name.contains(".artel-")));
}

/// Ends the swapping, however the test ends.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn swap(yard: &Yard) {
    for (one, other) in [("swap", "link"), ("file.txt", "file-link")] {
        let (one, other) = (yard.root.join(one), yard.root.join(other));
        renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
        // A write takes the place of the link, as it should; it is put back for the next one.
        if !one.is_symlink() && !other.is_symlink() && other.is_file() {
            fs::remove_file(&other).unwrap();
            symlink(yard.outside.join("file.txt"), &other).unwrap();
        }
    }
}
