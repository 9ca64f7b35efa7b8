//! A program of a user's, with a kernel of its own and DIETCODE_HOST_SEED.

use std::process::Command;

use super::emulator::compile;

#[test]
fn a_users_program_tests_its_own_kernels() {
    let (_folder, program) = compile("users_own", &[]);
    let run = |seed: Option<&str>| {
        let mut command = Command::new(&program);
        command.env_remove("DIETCODE_HOST_SEED").envs(seed.map(|seed| ("DIETCODE_HOST_SEED", seed)));
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    };
    let printed = run(None);
    assert!(printed.starts_with("transpose: right\nchecks: block (0,0,0), thread (3,0,0): assertion"), "{printed}");
    assert!(run(Some("0")).ends_with("turns: 0 1 2 3 4 5 6 7\n"));
    assert!(run(Some("1")).ends_with("turns: 7 6 5 4 3 2 1 0\n"));
    assert_eq!(run(Some("2")), run(Some("2")));
    assert_ne!(run(Some("2")), run(Some("5")));
    let refused = run(Some("soon"));
    assert!(refused.contains("the environment variable DIETCODE_HOST_SEED is `soon`, not a number"), "{refused}");
}
