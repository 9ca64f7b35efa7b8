//! What is wrong in configs, sources and arguments is said, with status 2.

use std::fs;

use super::{CONFIG, Place, status, stderr};

#[test]
fn bad_input_is_status_2_and_says_what_is_wrong() {
    let place = Place::new();
    let wrong = |arguments: &[&str], expected: &str| {
        let output = place.run(arguments);
        assert_eq!(status(&output), 2, "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    };
    wrong(&["tune", "missing.json"], "missing.json");
    wrong(&["bench", "dense.json", "--wkl", "T"], "name=number");
    wrong(&["bench", "dense.json", "--wkl", "T=-1"], "a number from 0 to 2147483648");
    wrong(
        &["explain", "dense.json", "--wkl", "X=1"],
        "--wkl X=1: dense.json: found the unknown workload variable `X`, expected `T`\n",
    );
    let again = "--threads: found 1 a second time, expected each number of threads once";
    for command in ["tune", "bench", "explain"] {
        wrong(&[command, "dense.json", "--threads", "1", "--threads", "0,1"], again);
    }
    wrong(&["explore", "dense.json", "--threads", "1,1", "--wkl", "T=3"], again);
    wrong(&["explain", "dense.json", "--wkl", ""], "--wkl \"\": dense.json: the workload variable `T` is missing\n");
    // The kernel's source is no config.
    let how = "found a Rust source, expected a config, which is a JSON file; `dietcode tune --kernel ops.rs";
    for command in ["explain", "expand", "tune", "bench"] {
        wrong(&[command, "ops.rs"], &format!("dietcode: ops.rs: {how}:NAME --wkl …` makes one for a kernel in it\n"));
        wrong(&[command, "ops.rs:dense"], &format!("ops.rs:dense: {how}:dense --wkl …` makes one"));
    }
    wrong(&["explain", "dense.json", "--wkl", "T=0..9999:1"], "--wkl T=0..9999:1: found more than 1000 shapes");
    wrong(&["explain", "dense.json", "--shape", "T=1"], "found\n\n  tip: what was '--shape' is '--wkl'\n");
    fs::write(place.path("dense.json"), CONFIG.replace("\"dense\"", "\"sparse\"")).unwrap();
    wrong(&["expand", "dense.json"], "dense.json:2:47: key `kernel.function`: ops.rs has no function `sparse`");
    let source = fs::read_to_string(place.path("ops.rs")).unwrap();
    let kernel = "#[dynamic_kernel]\npub fn sparse(y: &mut [f32; M]) { for i in 0..M { y[i] = 0.0; } }\n";
    fs::write(place.path("ops.rs"), format!("{kernel}mod inner {{\n    {kernel}}}\n{source}")).unwrap();
    let both = "`kernel.function`: found `sparse` with #[dynamic_kernel] at ops.rs:2:8 and at ops.rs:5:8, expected one";
    wrong(&["expand", "dense.json"], both);
    // A build has one of these two.
    let [with, without] = ["feature = \"a\"", "not(feature = \"a\")"].map(|when| format!("#[cfg({when})]\n{kernel}"));
    fs::write(place.path("ops.rs"), format!("{with}{without}{source}")).unwrap();
    let output = place.run(&["expand", "dense.json"]);
    assert!(!stderr(&output).contains("expected one function"), "{}", stderr(&output));
    fs::write(place.path("ops.rs"), source).unwrap();
    for (from, to, why) in [
        ("\"vector\": [\"j\"]", "\"vector\": [\"l\"]", "vector: `l` is not a "),
        ("{ \"i\": 5,", "{ \"n\": 5,", "register_tile: `n` is not a "),
        ("[[\"w\"]]", "[[\"v\"]]", "pack: `v` is not an input of the reduction of `dense`"),
    ] {
        fs::write(place.path("dense.json"), CONFIG.replace(from, to)).unwrap();
        for command in [&["expand"][..], &["tune"], &["bench"], &["explain"], &["emit", "--output", "there"]] {
            let arguments = [&command[..1], &["dense.json"], &command[1..]].concat();
            wrong(&arguments, &format!("dense.json: targets.cpu.generators: {why}"));
        }
    }
    fs::write(place.path("dense.json"), CONFIG.replace("\"M\"", "\"Q\"")).unwrap();
    wrong(&["expand", "dense.json"], "`Q`");
    fs::write(place.path("dense.json"), CONFIG.replace("wkl_insts", "wkl_inst")).unwrap();
    wrong(&["expand", "dense.json"], "dense.json:4:");
}
