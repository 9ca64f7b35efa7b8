//! Commands that are ended in the midst of what they do: what they leave, and who goes on.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use super::place::{BENCH, Place, has, status, stderr};

/// More candidates than are tried in the time of a test.
const TUNE: &[&str] =
    &["tune", "dense.json", "--trials", "100000", "--strategy", "random", "--seconds", "600", "--blas", "none"];

/// Longer than anything here takes on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(120);

fn wait(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, name: &str) {
    let kill = std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(kill.unwrap().success());
}

/// The processes that a process has started, and theirs.
fn children(of: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let own: Vec<u32> =
        lists.flat_map(|list| list.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<_>>()).collect();
    own.iter().flat_map(|id| [vec![*id], children(*id)].concat()).collect()
}

/// Whether a process is there and not only waits to be asked how it ended.
fn runs(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A search that has compiled something and started a worker.
fn tuning(place: &Place) -> (Child, Vec<u32>) {
    let child = place.command(TUNE).spawn().unwrap();
    wait("a compiled candidate", || has(&place.temporary(), "so") && !children(child.id()).is_empty());
    let children = children(child.id());
    (child, children)
}

/// Interrupts a command that has started others, once, or again and again: it ends with all of them, says that it was interrupted, and leaves
/// nothing.
fn interrupted(place: &Place, child: Child, again: bool) {
    let children = children(child.id());
    assert!(!children.is_empty());
    signal(&child, "INT");
    if again {
        // The system makes one of two that come before the first is heard.
        wait("its end", || {
            signal(&child, "INT");
            !runs(child.id())
        });
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(status(&output), Some(130), "{}", stderr(&output));
    assert!(place.left().is_empty(), "{:?}", place.left());
    wait("the end of all that it started", || !children.iter().any(|id| runs(*id)));
}

#[test]
fn two_interrupts_end_a_search_at_once_and_leave_nothing() {
    let place = Place::new();
    let (child, _) = tuning(&place);
    interrupted(&place, child, true);
}

#[test]
fn an_interrupt_ends_a_comparison_whose_compiler_hangs() {
    let place = Place::new();
    let marker = place.path("hangs");
    let hang =
        format!("case \"$*\" in *-shared*) touch {}; sleep 600; exit 1 ;; esac\nexec \"$CC\" \"$@\"", marker.display());
    let script = place.script("hanging", &hang);
    let child = place.command(BENCH).env("CC", script).spawn().unwrap();
    wait("the compiler", || marker.exists());
    interrupted(&place, child, false);
}

#[test]
fn an_interrupt_ends_the_build_of_a_library_with_all_that_cargo_has_started() {
    let place = Place::new();
    let marker = place.path("hangs");
    let cargo = place.script("hanging-cargo", &format!("touch {}; sleep 600", marker.display()));
    let mut command = place.command(&["build-lib", "dense.json", "-o", "lib", "--cache", "cache"]);
    let child = command.env("CARGO", cargo).spawn().unwrap();
    wait("cargo", || marker.exists());
    interrupted(&place, child, false);
    assert!(fs::read_dir(place.path("lib")).unwrap().next().is_none());
}

#[test]
fn what_a_killed_search_leaves_is_removed_by_the_next_command() {
    let place = Place::new();
    let (mut child, children) = tuning(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.left().is_empty(), "nobody could have removed it");
    // Compilers of candidates may have children of their own, which end when they are done.
    wait("the end of all that it started", || !children.iter().any(|id| runs(*id)));
    let output = place.run(&["expand", "dense.json"]);
    assert_eq!(status(&output), Some(0), "{}", stderr(&output));
    assert!(place.left().is_empty(), "{:?}", place.left());
}
