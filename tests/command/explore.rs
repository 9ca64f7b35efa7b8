//! `dietcode explore`: candidates at shapes of lists, one of them broken by its compiler, a BLAS that computes something else, lists that are
//! wrong, and a share of the lists that the project ships.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[path = "../compiler/common/settings.rs"]
#[allow(dead_code, reason = "tests of the compiler take more of it")]
mod settings;

const OPS: &str = concat!(include_str!("../nests/dense.rs"), include_str!("../nests/scale.rs"));

const DENSE: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "dense" },
  "shape": { "M": "16*T", "K": 64, "N": 96 },
  "wkl_insts": [{ "T": 1 }, { "T": 4 }],
  "targets": { "cpu": { "march": "x86-64-v3", "generators": [
    { "family": "tiled", "vector": ["j"], "register_tile": [{ "i": 4, "j": 16 }, { "i": 2, "j": 32 }],
      "block_tile": [{ "k": 64 }], "pack": [["w"]] }
  ] } }
}"#;

const SCALE: &str = r#"{
  "kernel": { "source": "ops.rs", "function": "scale" },
  "shape": { "M": "M", "N": "N" },
  "wkl_insts": [{ "M": 8, "N": 64 }],
  "targets": { "cpu": { "march": "x86-64-v3" } }
}"#;

const LIST: &str = r#"{
  "model": "small", "source": "made up",
  "wkl_insts": [{ "T": 3 }, { "T": 37 }],
  "layers": [
    { "layer": "first", "kernels": ["dense"], "shape": { "M": "T", "N": 17, "K": "2*T" } },
    { "layer": "second", "kernels": ["scale"], "shape": { "M": "T", "N": 5 } }
  ]
}"#;

/// A BLAS whose products are plain loops, and wrong by one where `WRONG` is defined.
const BLAS: &str = "
void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda, const float *b, int ldb, float beta, float *c,
                 int ldc) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int l = 0; l < k; l++) sum += a[ta == 111 ? i * lda + l : l * lda + i] * b[tb == 111 ? l * ldb + j : j * ldb + l];
#ifdef WRONG
            sum += 1;
#endif
            c[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * c[i * ldc + j]);
        }
}
";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for (name, text) in [("ops.rs", OPS), ("dense.json", DENSE), ("scale.json", SCALE), ("list.json", LIST)] {
            fs::write(place.path(name), text).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dietcode"));
        command.arg("explore").args(arguments).args(["--threads", "1"]).current_dir(self.0.path());
        command
    }

    /// Its status, what it wrote as JSON, and what it said.
    fn explore(&self, command: &mut Command) -> (i32, Value, String) {
        let output = command.args(["--json", "out.json"]).output().unwrap();
        let json = fs::read_to_string(self.path("out.json")).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        (output.status.code().unwrap(), serde_json::from_str(&json).unwrap(), stderr(&output))
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// (shape, candidate) of all results.
fn results(json: &Value) -> Vec<(&Value, &Value)> {
    let shapes = json["shapes"].as_array().unwrap().iter();
    shapes.flat_map(|at| at["candidates"].as_array().unwrap().iter().map(move |row| (at, row))).collect()
}

/// The names of those that failed, each once.
/// But for those whose cores other tests took too often.
fn failed(json: &Value) -> Vec<&str> {
    let is_its_own = |row: &Value| !row["failure"].is_null() && row["failure"]["kind"] != "unknown";
    let failed = results(json).into_iter().filter(|(_, row)| is_its_own(row));
    let mut names: Vec<&str> = failed.map(|(_, row)| row["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn every_candidate_is_checked_at_the_shapes_of_a_list() {
    let place = Place::new();
    let list = ["--shapes", "list.json", "--check", "--blas", "none"];
    let (status, json, said) = place.explore(&mut place.command(&[&["dense.json"][..], &list].concat()));
    assert_eq!((status, failed(&json)), (0, vec![]), "{said}");
    let shapes: Vec<String> = json["shapes"].as_array().unwrap().iter().map(|at| at["shape"].to_string()).collect();
    assert_eq!(shapes, [r#"{"K":6,"M":3,"N":17}"#, r#"{"K":74,"M":37,"N":17}"#]);
    for (at, row) in results(&json) {
        assert_eq!(at["layer"], "small: first");
        let [error, bound] = ["error", "bound"].map(|key| row["nearest"][key].as_f64().unwrap());
        assert!(error <= bound && bound < 1e-3 && row["seconds"].is_null() && row["gflops"].is_null(), "{row}");
    }
    let names: Vec<&str> =
        json["shapes"][0]["candidates"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    let has = |start: &str| names.iter().filter(|name| name.starts_with(start)).count() == 1;
    assert!(["dietcode", "4x16_", "2x32_", "naive", "matrixmultiply"].into_iter().all(has), "{names:?}");
    // A nest that is no product has shapes too, and no library.
    let (status, json, said) = place.explore(&mut place.command(&[&["scale.json"][..], &list].concat()));
    assert_eq!((status, failed(&json), json["shapes"][1]["operations"].as_f64()), (0, vec![], Some(185.0)), "{said}");
    assert!(results(&json).iter().all(|(_, row)| row["name"] != "matrixmultiply"), "{json}");
}

#[test]
fn elements_that_a_nest_leaves_as_they_were_are_right() {
    let place = Place::new();
    let keep =
        "#[dynamic_kernel]\nfn keep(x: &[f32; N], y: &mut [f32; N]) { for i in 0..N { y[i] = y[i] + 0.0 * x[i]; } }";
    let config = r#"{ "kernel": { "source": "keep.rs", "function": "keep" }, "shape": { "N": "N" }, "wkl_insts": [{ "N": 20 }] }"#;
    fs::write(place.0.path().join("keep.rs"), keep).unwrap();
    fs::write(place.0.path().join("keep.json"), config).unwrap();
    let (status, json, said) = place.explore(&mut place.command(&["keep.json", "--check"]));
    assert_eq!((status, failed(&json)), (0, vec![]), "{said}");
}

/// A product that leaves `f32` may be anything, and so may what is made of it.
#[test]
fn what_overflows_has_a_bound_wherever_it_is_used() {
    let place = Place::new();
    let config = r#"{ "kernel": { "source": "f.rs", "function": "f" }, "shape": { "M": "M", "K": 100 }, "wkl_insts": [{ "M": 5 }] }"#;
    fs::write(place.0.path().join("f.json"), config).unwrap();
    for end in ["2.0 * acc", "acc * a[i]", "a[i] / acc", "acc.mul_add(a[i], 1.0)"] {
        let nest = format!(
            "#[dynamic_kernel] fn f(x: &[[f32; K]; M], a: &[f32; M], y: &mut [f32; M]) {{
                for i in 0..M {{ let mut acc = 1.0; for k in 0..K {{ acc *= x[i][k] + 6.0; }} y[i] = {end}; }} }}"
        );
        fs::write(place.0.path().join("f.rs"), nest).unwrap();
        let (status, json, said) = place.explore(&mut place.command(&["f.json", "--check"]));
        assert_eq!((status, failed(&json)), (0, vec![]), "{end}: {said}");
    }
}

#[test]
fn candidates_are_timed_beside_a_blas_the_fastest_first() {
    let place = Place::new();
    let blas = place.blas("libright.so", &[]);
    let mut command = place.command(&["dense.json", "--listed", "1", "--blas", &blas, "--most-operations", "2e5"]);
    let (status, json, said) = place.explore(&mut command);
    assert_eq!((status, failed(&json)), (0, vec![]), "{said}");
    assert!(said.contains("1 shape of more than 2e5 operations left out"), "{said}");
    let rates = results(&json).into_iter().map(|(_, row)| row["gflops"]["median"].as_f64().unwrap_or(0.0));
    assert!(rates.clone().is_sorted_by(|a, b| a >= b) && rates.clone().all(|rate| rate >= 0.0), "{json}");
    assert!(results(&json).iter().any(|(_, row)| row["name"] == "blas:libright.so"), "{json}");
}

#[test]
fn a_wrong_candidate_is_named_and_fails_the_command() {
    let place = Place::new();
    let script = "#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in *2x32_????????.c) sed -i 's/+=/-=/g' \"$a\";; esac; done\nexec cc \"$@\"\n";
    fs::write(place.path("wrong-cc"), script).unwrap();
    fs::set_permissions(place.path("wrong-cc"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let wrong = place.blas("libwrong.so", &["-DWRONG"]);
    let mut command = place.command(&["dense.json", "--check", "--wkl", "T=1", "--blas", &wrong]);
    let (status, json, said) = place.explore(command.env("CC", place.path("wrong-cc")));
    let names = failed(&json);
    assert!(names.len() == 2 && names[0].starts_with("2x32_") && names[1] == "blas:libwrong.so", "{names:?}");
    assert_eq!(status, 1, "{said}");
    for name in names {
        assert!(said.contains(&format!("{name} at T=1 on 1 thread is wrong in ")), "{said}");
    }
    assert!(said.contains("dietcode: 2 results failed, of `2x32_"), "{said}");
}

impl Place {
    /// Compiles the BLAS; its path.
    fn blas(&self, name: &str, flags: &[&str]) -> String {
        fs::write(self.path("blas.c"), BLAS).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(self.path(name)).arg(self.path("blas.c")).args(flags);
        assert!(compiler.status().unwrap().success());
        self.path(name).to_str().unwrap().to_owned()
    }
}

#[test]
fn what_cannot_be_explored_is_told() {
    let place = Place::new();
    for (name, from, to) in [
        ("cut.json", "\n  ]\n}", ""),
        ("typo.json", "\"layers\"", "\"layer\""),
        ("other.json", "\"dense\"", "\"sparse\""),
        ("variables.json", "\"N\": 17, ", ""),
        ("unknown.json", "\"2*T\"", "\"2*S\""),
        ("none.json", "\"2*T\"", "\"T - 3\""),
    ] {
        assert!(LIST.contains(from));
        fs::write(place.path(name), LIST.replace(from, to)).unwrap();
    }
    for (arguments, why) in [
        (&["nowhere.json"][..], "nowhere.json: cannot be read"),
        (&["dense.json", "--shapes", "nowhere.json"], "nowhere.json: cannot be read"),
        (&["dense.json", "--shapes", "cut.json"], "cut.json:6:"),
        (&["dense.json", "--shapes", "typo.json"], "typo.json:4:3: key `layer`: found an unknown key, expected one of"),
        (
            &["dense.json", "--shapes", "other.json"],
            "other.json: found no layer of `dense`, expected one of scale, sparse",
        ),
        (
            &["dense.json", "--shapes", "variables.json"],
            "variables.json:5:5: key `layers[0]`: found the shape variables M, K",
        ),
        (&["dense.json", "--shapes", "unknown.json"], "the workload variable `S` is missing"),
        (&["dense.json", "--shapes", "none.json"], "`K` = T - 3 is 0 at T=3, expected from 1 to"),
        (
            &["dense.json", "--shapes", "list.json", "--shapes", "./list.json"],
            "found a second time, expected each list once",
        ),
        (
            &["dense.json", "--wkl", "T=0"],
            "T=0: a call computes nothing, expected a shape at which something is computed",
        ),
        (&["dense.json", "--most-operations", "10"], "--most-operations 1e1: found 1.96608e5 or more at each shape"),
        (&["dense.json", "--most-operations", "NaN"], "expected a number of at least 1, such as 1e9"),
    ] {
        let output = place.command(&[arguments, &["--check", "--blas", "none"]].concat()).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(why), "{why}: {said}");
    }
}

/// The smaller shapes of BERT and Llama, and one convolution of ResNet-50, with either stride, another one each day: `cargo xtask explore`
/// has all of them.
#[test]
fn a_share_of_the_shipped_lists_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = |name: &str| root.join(format!("configs/shapes/{name}.json")).to_str().unwrap().to_owned();
    let place = Place::new();
    let mut resnet: Value = serde_json::from_str(&fs::read_to_string(shipped("resnet50")).unwrap()).unwrap();
    let (seed, layers) = (usize::try_from(settings::seed_of_the_day()).unwrap(), resnet["layers"].take());
    let of_the_day = ["conv2d", "conv2d_by_2"].map(|kernel| {
        let layers = layers.as_array().unwrap().iter().filter(|layer| layer["kernels"][0] == kernel);
        layers.clone().nth(seed % layers.count()).unwrap().clone()
    });
    resnet["layers"] = of_the_day.to_vec().into();
    fs::write(place.path("resnet.json"), resnet.to_string()).unwrap();
    let (bert, llama) = (shipped("bert"), shipped("llama"));
    for (config, lists, most) in [
        ("configs/bert_dense.json", &[&*bert, &*llama][..], "4e7"),
        ("configs/bert_q_k.json", &[&*bert, &*llama], "3e7"),
        ("configs/bert_p_v.json", &[&*bert, &*llama], "3e7"),
        ("xtask/peers/conv2d.json", &["resnet.json"], "1e9"),
        ("xtask/explore/conv2d_by_2.json", &["resnet.json"], "1e9"),
    ] {
        let config = root.join(config);
        let lists: Vec<&str> = lists.iter().flat_map(|list| ["--shapes", list]).collect();
        let share = ["--check", "--blas", "none", "--listed", "1", "--most-operations", most];
        let mut command = place.command(&[&[config.to_str().unwrap()], &lists[..], &share].concat());
        let (status, json, said) = place.explore(&mut command);
        assert_eq!((status, failed(&json)), (0, vec![]), "{}: {said}", config.display());
        let models: Vec<&str> =
            json["shapes"].as_array().unwrap().iter().filter_map(|at| at["layer"].as_str()).collect();
        let has = |model: &str| models.iter().any(|layer| layer.starts_with(model));
        assert!(has("ResNet-50: ") || has("BERT base: ") && has("Llama 3 8B: "), "{models:?}");
    }
}
