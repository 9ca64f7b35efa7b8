//! No phase that takes seconds is silent.

use std::process::Stdio;

use super::place::{BENCH, Place, status, stderr};

/// The compiler takes six seconds for the reference, and so does the dynamic linker with it and with the default micro-kernel.
const SLOW: &str = r#"
case "$*" in
  *peak*|*naive*) exec "$CC" "$@" ;;
  *-shared*) echo '__attribute__((constructor)) static void slowly(void) { sleep(6); }' | cat "$0.h" - > "$0.$$.h"
    case "$*" in *reference*) sleep 6 ;; esac
    "$CC" -include "$0.$$.h" "$@" ;;
  *) exec "$CC" "$@" ;;
esac"#;

#[test]
fn what_takes_long_is_told_while_it_does() {
    let place = Place::new();
    let script = place.script("slow", SLOW);
    std::fs::write(place.path("slow.h"), "#include <unistd.h>\n").unwrap();
    let output = place.command(BENCH).env("CC", script).stdout(Stdio::null()).output().unwrap();
    let said = stderr(&output);
    assert_eq!(status(&output), Some(0), "{said}");
    for phase in
        ["compiling the reference of `dense`", "computing the reference at shape", "checking implementation 1 of 2"]
    {
        let told = |line: &str| line.starts_with(phase) && line.ends_with(" s so far");
        assert!(said.lines().any(told), "no word of {phase}: {said}");
    }
}
