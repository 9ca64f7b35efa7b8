//! TVM's programs, and files of them that are wrong in one place each.

use super::*;

/// A copy of what TVM said of 24 programs (see `tests/oracles/README.md`).
const ORACLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/oracles/tvm_per_store_features.json");

/// Programs of other nests, drawn by `tvm_programs.py` beside it.
const OTHERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/oracles/tvm_other_programs.json");

#[test]
fn features_are_those_of_tvm() {
    agree(ORACLE, 24, 70);
    agree(OTHERS, 34, 101);
}

fn agree(file: &str, records: usize, rows: usize) {
    let comparison = check(Path::new(file)).unwrap();
    assert_eq!((comparison.records, comparison.rows), (records, rows), "{file}");
    for ((name, off), largest) in per_store::names().iter().zip(&comparison.off).zip(&comparison.largest) {
        if name.starts_with("int_") {
            assert!(*largest <= INTEGER_TOLERANCE, "{name}: {largest}");
        } else {
            assert_eq!(*off, 0, "{name}: {largest}");
        }
    }
}

#[test]
fn names_are_those_of_tvm() {
    let names = include_str!("../../../../../tests/oracles/per_store_feature_names.json");
    assert_eq!(per_store::names(), serde_json::from_str::<Vec<String>>(names).unwrap());
}

/// What is said of the oracle's file with its first occurrence of some text replaced.
fn refused(from: &str, to: &str) -> String {
    let text = std::fs::read_to_string(ORACLE).unwrap();
    assert!(text.contains(from), "{from}");
    said(&text.replacen(from, to, 1))
}

fn said(text: &str) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let error = check(file.path()).unwrap_err().to_string();
    let name = file.path().display().to_string();
    error.strip_prefix(&name).unwrap_or_else(|| panic!("the file's name: {error}")).to_owned()
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_place() {
    let text = std::fs::read_to_string(ORACLE).unwrap();
    let cut = said(&text[..text.len() / 2]);
    assert!(cut.starts_with(": EOF while parsing") && cut.contains("at line "), "{cut}");
    assert!(said("").contains("at line 1 column 0"));
    assert_eq!(said("[]"), ": has no records");
    assert!(said("[{}]").contains("missing field `tir`"));

    let first = text.find("\"features\"").and_then(|at| text[at..].find("[[").map(|row| at + row + 2));
    let first = first.expect("the first number");
    let end = first + text[first..].find(',').unwrap();
    let with = |value: &str| said(&format!("{}{value}{}", &text[..first], &text[end..]));
    assert_eq!(with("null"), ": record 0: row 0, feature 0 (float_mad): null is no finite number");
    assert_eq!(with("\"7\""), ": record 0: row 0, feature 0 (float_mad): \"7\" is no finite number");
    assert!(with("NaN").contains("at line "), "{}", with("NaN"));
    assert!(with("1e999").contains("out of range at line "), "{}", with("1e999"));
    assert_eq!(with("1, 2"), ": record 0: row 0 has 165 features; expected 164");

    let program = |from: &str, to: &str| {
        let said = refused(from, to);
        assert!(said.starts_with(": record 0: line "), "{said}");
        said
    };
    assert!(program("for j_1 in range(96):", "for j_1 in range(n):").contains("expected a length, found `n`"));
    assert!(program("for j_1 in range(96):", "for j_1 in range(0):").contains("a loop of length 0"));
    let said = program("for j_1 in range(96):", "while j_1 < 96:");
    assert!(said.contains("expected `=`, found `j_1`"), "{said}");
    assert!(program("Y[v_i, v_j] = Y[v_i, v_j]", "Y[v_i] = Y[v_i, v_j]").contains("1 indices into `Y`, which has 2"));
    assert!(program("Y[v_i, v_j] = Y[v_i, v_j]", "Y[v_i, v_l] = Y[v_i, v_j]").contains("`v_l` is not known"));
    assert!(program("Y[v_i, v_j] = Y[v_i, v_j]", "Z[v_i, v_j] = Y[v_i, v_j]").contains("there is no buffer `Z`"));
}

/// A program with a product in shared memory, of which one buffer is in every place that there is.
fn script(lines: &str) -> Script {
    let mut script = Script::parse(&lines.lines().map(String::from).collect::<Vec<_>>()).unwrap();
    compact::compact(&mut script).unwrap();
    script
}

#[test]
fn buffers_stand_where_all_accesses_are_and_hold_what_is_touched_there() {
    let lines = r#"
def main(X: T.Buffer((64, 32), "float32"), Y: T.Buffer((64, 32), "float16")):
    X_shared = T.sblock_alloc_buffer((64, 32), scope="shared")
    X_local = T.sblock_alloc_buffer((64, 32), scope="local")
    for b in T.thread_binding(4, thread="blockIdx.x", annotations={"pragma_auto_unroll_max_step": 16}):
        for k in range(8):
            for t in T.thread_binding(16, thread="threadIdx.x"):
                for v in T.vectorized(4):
                    X_shared[b * 16 + t, k * 4 + v] = X[b * 16 + t, k * 4 + v]
            for t in T.thread_binding(16, thread="threadIdx.x"):
                for one, v in T.grid(1, 4):
                    X_local[b * 16 + t + one, k * 4 + v] = T.max(X_shared[b * 16 + t, k * 4 + v], T.float32(0))
                for v in range(4):
                    Y[b * 16 + t, k * 4 + v] = T.Cast("float16", X_local[b * 16 + t, k * 4 + v])
"#;
    let script = script(lines);
    assert_eq!(script.unroll_max_step, [("b".into(), 16)]);
    let printed = script.body.to_string();
    // The threads are around everything; shared memory moves with them, a thread's own does not.
    for part in ["shared X_shared[16][4]", "X_shared[t][v]", "local X_local[1][4]", "X_local[0][v.2]"] {
        assert!(printed.contains(part), "{part}\n{printed}");
    }
    let rows = rows(&lines.lines().map(String::from).collect::<Vec<_>>()).unwrap();
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["X_shared", "X_local", "Y"]);
    let size = per_store::names().iter().position(|name| name == "alloc_size").unwrap();
    let bytes: Vec<f32> = rows.iter().map(|(_, row)| row[size].exp2() - 1.0).map(f32::round).collect();
    assert_eq!(bytes, [16.0 * 4.0 * 4.0, 4.0 * 4.0, 64.0 * 32.0 * 2.0]);
}
