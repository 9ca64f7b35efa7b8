//! `dietcode emit` of a set: what is listed is what is written, and it is the same every time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

const SET: &str = r#"{
  "naive": [{ "cache_line_size": [64, 128] }],
  "non_local_interleaved": [{
    "cache_line_size": [64], "work_item_sizes": [[2, 2]], "work_group_sizes": [[4, 4]],
    "batch_level_tiles": [[4, 4]], "vectorization_size": [2]
  }]
}"#;

fn emit(set: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_dietcode")).arg("emit").arg(set).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The files below a folder, by their names in it.
fn files(folder: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            found.extend(files(&path, &format!("{name}/")));
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn what_is_listed_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("some.json");
    fs::write(&set, SET).unwrap();
    let targets = ["--target", "cpu", "--target", "cuda", "--target", "cuda-host"];
    let listed = emit(&set, &[&targets[..], &["--list-files"]].concat());
    let written = ["one", "two"].map(|name| {
        let out = folder.path().join(name);
        emit(&set, &[&targets[..], &["-o", out.to_str().unwrap()]].concat());
        files(&out, "")
    });
    let mut names: Vec<&str> = listed.lines().collect();
    names.sort_unstable();
    assert!(names.iter().eq(written[0].keys()), "{names:?}, {:?}", written[0].keys());
    assert!(written[0] == written[1], "the same every time");
    for name in ["naive_c64.c", "cuda/naive_c128.cu", "registry.def", "registry.rs", "cuda/cuda_host/fibers.h"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

#[test]
fn a_set_that_serves_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("wide.json");
    let wide = r#"{ "non_local": [{
        "work_item_sizes": [[4, 4]], "work_group_sizes": [[64, 64]], "vectorization_size": [4], "vectorization": ["partial"]
    }] }"#;
    fs::write(&set, wide).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
    let output = command.arg("emit").arg(&set).args(["--target", "cuda", "--list-files"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let reason = "this set serves nothing: none of its 1 configurations has a micro-kernel for ";
    assert!(output.status.code() == Some(2) && said.contains(reason), "{said}");
    assert!(said.contains("`non_local_i4x4_w64x64_v4_partial` does not serve gemm_nn: sm_90: "), "{said}");
}
