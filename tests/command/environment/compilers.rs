//! Compilers by other names, compilers that refuse, and folders that are not there.

use std::fs;

use super::place::{BENCH, Place, status, stderr};

#[test]
fn clang_alone_on_the_search_path_compiles_and_what_it_compiles_is_right() {
    let place = Place::new();
    // What clang looks for is what the machine's compiler brings.
    ["clang", "as", "ld"].iter().for_each(|name| place.link(&format!("bin/{name}"), name));
    let searching: &[&str] = &["tune", "dense.json", "--trials", "1", "--seconds", "60", "--blas", "none"];
    for arguments in [[BENCH, &["--json", "bench.json"]].concat(), searching.to_vec()] {
        let mut command = place.command(&arguments);
        let output = command.env("PATH", place.path("bin")).env_remove("CC").output().unwrap();
        assert_eq!(status(&output), Some(0), "{}", stderr(&output));
    }
    for file in ["bench.json", "dense.cpu.tuned.json"] {
        let report = fs::read_to_string(place.path(file)).unwrap();
        assert!(report.contains("clang version"), "{file}: {report}");
    }
}

#[test]
fn a_compiler_that_the_environment_names_is_not_replaced() {
    let place = Place::new();
    ["clang", "as", "ld"].iter().for_each(|name| place.link(&format!("bin/{name}"), name));
    for named in ["cc", "no-such-compiler"] {
        let mut command = place.command(&["expand", "dense.json"]);
        let output = command.env("PATH", place.path("bin")).env("CC", named).output().unwrap();
        assert_eq!(status(&output), Some(3), "{named}: {}", stderr(&output));
        assert!(stderr(&output).contains(named), "{}", stderr(&output));
    }
    let output = place.command(&["expand", "dense.json"]).env("PATH", place.path("none")).env_remove("CC").output();
    let output = output.unwrap();
    assert_eq!(status(&output), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("PATH has no cc, no gcc, no clang"), "{}", stderr(&output));
}

#[test]
fn a_compiler_with_arguments_is_called_with_them() {
    let place = Place::new();
    let script = place.script("own-cc", r#"echo "$*" >> "$(dirname "$0")/calls"; exec "$CC" "$@""#);
    let output = place.command(BENCH).env("CC", format!("{} -DODD=1", script.display())).output().unwrap();
    assert_eq!(status(&output), Some(0), "{}", stderr(&output));
    let calls = fs::read_to_string(place.path("calls")).unwrap();
    assert!(calls.lines().any(|call| call.contains("-DODD=1") && call.contains("-shared")), "{calls}");
}

#[test]
fn what_a_compiler_says_is_shown_whole() {
    let place = Place::new();
    let words = ["in a file: a note before", "error: nothing is right", "   12 | the line", "      | ^~~", "one error"];
    let lines: Vec<String> = words.iter().map(|line| format!("echo '{line}' >&2")).collect();
    let refuse = format!("case \"$*\" in *-shared*) {}; exit 1 ;; esac\nexec \"$CC\" \"$@\"", lines.join("; "));
    let script = place.script("refusing", &refuse);
    let output = place.command(BENCH).env("CC", &script).output().unwrap();
    assert_eq!(status(&output), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains(&words.join("\n")), "{}", stderr(&output));
}

#[test]
fn a_temporary_folder_that_cannot_be_used_is_an_error_and_is_not_made() {
    let place = Place::new();
    let missing = place.path("no/such/folder");
    for (folder, why) in [(missing, "not found"), (place.path("ops.rs"), "directory"), ("/proc".into(), "/proc")] {
        for arguments in [BENCH, &["expand", "dense.json"], &["tune", "dense.json", "--trials", "1"]] {
            let output = place.command(arguments).env("TMPDIR", &folder).output().unwrap();
            let said = stderr(&output);
            assert_eq!(status(&output), Some(3), "{arguments:?}: {said}");
            assert!(
                said.contains(&format!("TMPDIR is {}, in which", folder.display())) && said.contains(why),
                "{said}"
            );
        }
    }
    assert!(!place.path("no").exists());
}

#[test]
fn nothing_stays_in_the_temporary_folder_of_a_command_that_ends() {
    let place = Place::new();
    for arguments in [
        BENCH,
        &["expand", "dense.json"],
        &["tune", "dense.json", "--trials", "2", "--strategy", "random", "--blas", "none"],
    ] {
        let output = place.run(arguments);
        assert_eq!(status(&output), Some(0), "{}", stderr(&output));
        assert!(place.left().is_empty(), "{arguments:?}: {:?}", place.left());
    }
}
