//! `dietcode build-lib`: the library of `examples/library`, its header, its functions called from here, and the README's lines about it.
mod called;
mod place;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use dietcode::core::runtime::cuda::Device;

use crate::first_hour::page::listings;
use place::{Place, Refusing, root};

/// Shapes of another kernel.
const LIST: &str = r#"{ "model": "small", "source": "made up",
  "layers": [{ "layer": "only", "kernels": ["conv2d"], "shape": { "C": 1, "O": 1, "H": 2, "W": 2, "R": 1, "S": 1 } }] }"#;

/// Explores a kernel whose first candidate computes something else.
const WRONG: &str = "
import kernels.explore as explore

call = explore.call


def wrong(kernel, parameters, operands, threads, candidate):
    call(kernel, parameters, operands, threads, candidate)
    if candidate == 0:
        operands[-1][0, 0, 0] += 1


explore.call = wrong
explore.main(['scores'])
";

/// A nest that computes in `f64`, and has a scalar of it.
const WIDE: &str = "#[dynamic_kernel]
pub fn weighted(alpha: f64, x: &[[f64; K]; M], w: &[f32; K], y: &mut [f64; M]) {
    for i in 0..M {
        let mut acc = 0.0;
        for k in 0..K {
            acc += x[i][k] * f64::from(w[k]);
        }
        y[i] = alpha * acc;
    }
}
";

/// Integers beyond 2²⁴, of which each sum is exact, times a number that `f32` would round.
const CALL_WIDE: &str = "
import numpy as np
import wide

x, w = np.arange(5 * 67).reshape(5, 67) * 16777217.0, np.arange(67, dtype=np.float32) % 5 - 2
y = np.full(5, np.nan)
wide.weighted(0.1, x, w, y)
assert (y == 0.1 * (x @ w.astype(float))).all(), y
try:
    wide.weighted(0.1, x.astype(np.float32), w, y)
except ValueError as error:
    print(error)
import wide.explore
wide.explore.main(['weighted'])
";

#[test]
fn a_library_takes_double() {
    let place = Place::new();
    let config = r#"{ "kernel": { "source": "wide.rs", "function": "weighted" }, "shape": { "M": "M", "K": 67 }, "wkl_insts": [{ "M": 9 }] }"#;
    fs::write(place.path("wide.rs"), WIDE).unwrap();
    fs::write(place.path("wide.json"), config).unwrap();
    fs::write(place.path("call_wide.py"), CALL_WIDE).unwrap();
    place.follow("dietcode build-lib wide.json -o ../wide --name wide --python");
    let header = fs::read_to_string(place.path("../wide/wide.h")).unwrap();
    for part in [
        "\nint wide_weighted(\n    double alpha,\n    const double *x, ",
        "\n    double *y, ",
        " *   double x[M][K]: a tensor of rank 2",
    ] {
        assert!(header.contains(part), "{part}: {header}");
    }
    let said = place.follow("PYTHONPATH=../wide/python python3 call_wide.py");
    assert!(said.contains("weighted: `x` must have elements of f64, but has <f4"), "{said}");
    assert!(said.contains("<dispatcher>") && !said.contains("wrong"), "{said}");
}

/// A quantised product with a zero point, which is an integer, and a scale for each column.
const QUANTISED: &str = "#[dynamic_kernel]
pub fn quantised(zero: i32, x: &[[u8; K]; M], w: &[[i8; K]; N], b: &[i32; N], s: &[f32; N], y: &mut [[f32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            let mut acc = b[j];
            for k in 0..K {
                acc += (i32::from(x[i][k]) - zero) * i32::from(w[j][k]);
            }
            y[i][j] = acc as f32 * s[j];
        }
    }
}

#[dynamic_kernel]
pub fn summed(x: &[[u8; K]; M], w: &[[i8; K]; N], y: &mut [[i32; N]; M]) {
    for i in 0..M {
        for j in 0..N {
            for k in 0..K {
                y[i][j] += i32::from(x[i][k]) * i32::from(w[j][k]);
            }
        }
    }
}
";

const CALL_QUANTISED: &str = "
import numpy as np
import few

drawn = np.random.default_rng(1)
x, w = drawn.integers(0, 256, (5, 67), dtype=np.uint8), drawn.integers(-128, 128, (19, 67), dtype=np.int8)
b, s = drawn.integers(-1000, 1000, 19, dtype=np.int32), drawn.random(19, dtype=np.float32)
wide, y = x.astype(np.int64), np.full((5, 19), np.nan, dtype=np.float32)
few.quantised(128, x, w, b, s, y)
assert (y == (b + (wide - 128) @ w.astype(np.int64).T).astype(np.float32) * s).all(), y
sums = np.ones((5, 19), dtype=np.int32)
few.summed(x, w, sums)
assert (sums == 1 + wide @ w.astype(np.int64).T).all(), sums
for zero in (1 << 31, 0.5):
    try:
        few.quantised(zero, x, w, b, s, y)
    except (TypeError, ValueError) as error:
        print(error)
import few.explore
few.explore.main(['quantised', 'summed'])
";

#[test]
fn a_library_takes_integers() {
    let place = Place::new();
    for function in ["quantised", "summed"] {
        let config = format!(
            r#"{{ "kernel": {{ "source": "few.rs", "function": "{function}" }}, "shape": {{ "M": "M", "N": 19, "K": 67 }},
                "wkl_insts": [{{ "M": 9 }}] }}"#
        );
        fs::write(place.path(&format!("{function}.json")), config).unwrap();
    }
    fs::write(place.path("few.rs"), QUANTISED).unwrap();
    fs::write(place.path("call_few.py"), CALL_QUANTISED).unwrap();
    place.follow("dietcode build-lib quantised.json summed.json -o ../few --name few --python");
    let header = fs::read_to_string(place.path("../few/few.h")).unwrap();
    for part in ["\n    int32_t zero,\n    const uint8_t *x, ", "\n    const int8_t *w, ", "\n    int32_t *y, "] {
        assert!(header.contains(part), "{part}: {header}");
    }
    let said = place.follow("PYTHONPATH=../few/python python3 call_few.py");
    assert!(said.contains("`zero` is 2147483648, which is no integer of 32 bits"), "{said}");
    assert!(said.contains("<dispatcher>") && !said.contains("wrong"), "{said}");
}

#[test]
fn the_readme_is_followed_from_c_and_from_python() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let listings = listings(&readme).into_iter().filter(|listing| listing.heading == "From C, Python and others");
    let lines: Vec<String> = listings
        .filter(|l| l.language == "sh")
        .flat_map(|l| l.text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let [enter, build, compile, run, python, install, wheel, explore, pytest] = &lines[..] else {
        panic!("{lines:#?}")
    };
    assert_eq!(enter, "cd dietcode/examples/library");
    let place = Place::new();
    let built = place.follow(build);
    for file in ["kernels.h", "libkernels.so", "libkernels.a"] {
        assert!(built.contains(&format!("written  lib/{file}\n")), "{built}");
    }
    assert_eq!(built.matches("runs a default micro-kernel").count(), 3, "{built}");
    place.follow(compile);
    let (in_c, in_python) = (place.follow(run), place.follow(python));
    assert_eq!(in_c.matches("as the loops say").count(), 4, "{in_c}");
    assert!(in_c.contains("dense: dimension 1 of `w` is 769, but must be K = 768"), "{in_c}");
    assert_eq!(in_python.matches("as numpy says").count(), 5, "{in_python}");
    for said in [in_c, in_python] {
        assert!(said.contains(&format!("dietcode {}, built for ", env!("CARGO_PKG_VERSION"))), "{said}");
        assert!(
            said.contains(
                "scores: -march=native, a default micro-kernel: scores.cpu.tuned.json: there is no such file yet"
            ),
            "{said}"
        );
    }
    place.follow(install);
    let by_wheel = place.follow(wheel);
    assert_eq!(by_wheel.matches("as numpy says").count(), 3, "{by_wheel}");
    assert_eq!(by_wheel.matches("refused, as it should be").count(), 12, "{by_wheel}");
    let explored = place.follow(explore);
    for (shape, count) in [("\ndense at M=", 4), ("\nconv2d at C=", 2), ("\nscores at T=", 3), ("  <dispatcher>\n", 9)]
    {
        assert_eq!(explored.matches(shape).count(), count, "{explored}");
    }
    let checked = place.follow(pytest);
    // What runs at each of nine shapes, and the defaults' micro-kernels: one, or two and the decision between them.
    assert!(checked.contains(" passed in ") && !checked.contains("failed"), "{checked}");
    fs::write(place.path("wrong.py"), WRONG).unwrap();
    let wrong = place.follow("python3 wrong.py 2>&1 && exit 1; true");
    let all = "): <dispatcher> of scores at T=5, <dispatcher> of scores at T=24, <dispatcher> of scores at T=128\n";
    assert!(
        wrong.contains("  <dispatcher>  is wrong\n")
            && wrong.contains("\nwrong (DIETCODE_SEED=")
            && wrong.ends_with(all),
        "{wrong}"
    );
    // What stands in the second line that the command prints, for the static one.
    place.follow("cc main.c -Ilib lib/libkernels.a -lm -lpthread -ldl -o static && ./static");
}

#[test]
fn a_library_has_its_own_kernels_whatever_was_built_meanwhile() {
    let place = Place::new();
    for (config, folder) in [("dense", "one"), ("scores", "two"), ("dense", "one")] {
        // Beside the configs, where something has changed each time, each build would start over.
        place.follow(&format!("dietcode build-lib {config}.json -o ../{folder}"));
        let library = fs::read(place.path(&format!("../{folder}/libkernels.so"))).unwrap();
        let has = |function: &str| library.windows(function.len()).any(|part| part == function.as_bytes());
        let others = ["kernels_dense\0", "kernels_scores\0"].map(has);
        assert_eq!(others, [config == "dense", config == "scores"]);
    }
}

/// Compilers of C and C++, of old standards and new ones, have nothing to say of a header.
fn compiles(header: &Path) {
    for (compiler, language, standard) in
        [("cc", "c", "c99"), ("clang", "c", "c99"), ("c++", "c++", "c++98"), ("clang++", "c++", "c++20")]
    {
        let mut command = Command::new(compiler);
        command.args([
            &format!("-std={standard}"),
            "-x",
            language,
            "-Wall",
            "-Wextra",
            "-pedantic",
            "-Werror",
            "-fsyntax-only",
        ]);
        // The oldest C++ has stdint.h, and not long long.
        let output = command.arg("-Wno-long-long").arg(header).output().unwrap();
        assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Arrays of numpy as on the emulated device, whose number is -1.
const CALL_ON_DEVICES: &str = "
import devices
import numpy as np


class ByDlpack:
    def __init__(self, array):
        self.array = array

    def __dlpack__(self, *, stream, **options):
        assert stream == 1, stream
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return 2, -1


class ByInterface:
    def __init__(self, array, stream=None):
        self.__cuda_array_interface__ = {**array.__array_interface__, 'version': 3, 'stream': stream}


x = (np.arange(37 * 771, dtype=np.float32) % 7 - 3).reshape(37, 771)[:, 1:769]
w, b = np.arange(256 * 768, dtype=np.float32).reshape(256, 768) % 5 - 2, np.arange(256, dtype=np.float32) % 9 - 4
for of in (np.asarray, ByDlpack, ByInterface):
    y = np.full((37, 256), np.nan, np.float32)
    devices.dense(of(x), of(w), of(b), of(y), device=-1)
    assert (y == np.maximum(x @ w.T + b, 0)).all(), of


def refused(kind, sentence, *operands, **options):
    try:
        devices.dense(*operands, **options)
    except kind as error:
        assert str(error).startswith(sentence), error
    else:
        raise AssertionError(sentence)


at, nowhere = ByInterface, {'device': 4096}
refused(ValueError, 'dense: its tensors must be in one place, but `x` is in host memory, `w` is on cuda:-1', x, ByDlpack(w), b, y)
refused(ValueError, 'dense: its arrays name the streams [1, 2], of which', at(x, 1), at(w, 2), at(b), at(y))
refused(ValueError, 'dense: found the stream 0x7, but cuda-host has none', at(x, 7), at(w), at(b), at(y), device=-1)
refused(ValueError, 'dense: found the stream 0x9, but cuda-host has none', at(x, 7), at(w), at(b), at(y), device=-1, stream=9)
refused(TypeError, 'dense: `stream` ', at(x), at(w), at(b), at(y), stream=1.0)
refused(RuntimeError, 'dense: there is no ', at(x), at(w), at(b), at(y), **nowhere)
y.flags.writeable = False
refused(ValueError, 'dense: `y` is the output, but cannot be written', at(x), at(w), at(b), at(y), device=-1)
print('as numpy says')
";

/// The kinds of code in a fatbin.
const PTX: u16 = 1;
const MACHINE_CODE: u16 = 2;

/// What each fatbin in a file holds, as kinds of code with the compute capabilities that it is for. A fatbin is a header (a magic number, a
/// version, the header's size, the size of what follows) and entries, each with a header of its own.
fn fatbins(file: &[u8]) -> Vec<BTreeSet<(u16, u32)>> {
    let number = |at: usize, bytes: usize| {
        let found = file.get(at..at + bytes).expect("a fatbin ends inside the file");
        found.iter().rev().fold(0, |number: u64, byte| number << 8 | u64::from(*byte)) as usize
    };
    let codes = |begin: usize| {
        let mut at = begin + number(begin + 6, 2);
        let end = at + number(begin + 8, 8);
        let mut codes = BTreeSet::new();
        while at < end {
            codes.insert((number(at, 2) as u16, number(at + 28, 4) as u32));
            at += number(at + 4, 4) + number(at + 8, 8);
        }
        codes
    };
    (0..file.len()).filter(|at| file[*at..].starts_with(b"\x50\xed\x55\xba")).map(codes).collect()
}

#[test]
fn a_library_for_devices_computes_on_the_emulated_one_and_has_code_for_others() {
    let place = Place::new();
    let example = fs::read_to_string(root().join("examples/library/cuda.c")).unwrap();
    let lines: Vec<&str> = example.lines().filter_map(|line| line.strip_prefix(" *     ")).collect();
    let [build, compile, run] = lines[..] else { panic!("{lines:?}") };
    place.follow(&format!("{build} --python"));
    compiles(&place.path("lib/devices.h"));
    place.follow(compile);
    let said = place.follow(run);
    assert!(said.contains(", a default micro-kernel: ") && said.contains("; on sm_80, sm_90, cuda-host\n"), "{said}");
    assert_eq!(said.matches("as the loops say").count(), 3, "{said}");
    let refused: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("refused, as it should be: ")).collect();
    let of_device = match Device::count() {
        Ok(_) => "dense: there is no device cuda:4096".to_owned(),
        Err(error) => format!("dense: {error}"),
    };
    let expected = ["dense: dimension 1 of `w` is 768, but must be K = 767", "dense: found the stream 0x", &of_device];
    assert!(refused.len() == 3 && refused.iter().zip(expected).all(|(found, of)| found.starts_with(of)), "{said}");
    // Machine code for each device that was asked for is in it, and PTX of the newest. And the static library, with what the command says it needs.
    let found = fatbins(&fs::read(place.path("lib/libdevices.so")).unwrap());
    let expected = BTreeSet::from([(MACHINE_CODE, 80), (MACHINE_CODE, 90), (PTX, 90)]);
    assert!(!found.is_empty() && found.iter().all(|codes| *codes == expected), "{found:?}");
    place.follow(
        "cc -std=c99 cuda.c -Ilib lib/libdevices.a -lstdc++ -lm -lpthread -ldl -o static_cuda && ./static_cuda",
    );
    fs::write(place.path("call_on_devices.py"), CALL_ON_DEVICES).unwrap();
    let said = place.follow("PYTHONPATH=lib/python python3 call_on_devices.py");
    assert_eq!(said, "as numpy says\n");
}

#[test]
fn devices_that_a_library_cannot_be_for_are_refused() {
    let place = Refusing::new();
    place.refused(
        &["dense.json", "-o", "lib", "--cuda"],
        2,
        "dense.json: names no CUDA device: expected --cuda=DEVICES",
    );
    place.refused(&["dense.json", "-o", "lib", "--cuda=sm_80,sm_1"], 2, "sm_1");
    place.refused_with(&[("NVCC", "no-such-nvcc")], &["dense.json", "-o", "lib", "--cuda=sm_90"], 3, "no-such-nvcc");
    assert!(!place.path("lib").exists());
}

#[test]
fn compilers_take_the_header_without_a_word() {
    let place = Place::built();
    let header = place.path("lib/kernels.h");
    compiles(&header);
    let text = fs::read_to_string(header).unwrap();
    for part in [
        "\nint kernels_scores_candidate(\n    int candidate,\n    float scale,\n",
        "\nconst char *kernels_conv2d_candidate_name(int candidate);\n",
        "\n * A 2-D convolution of an image `x[channel][row][column]`, without padding and with stride 1.\n",
        "\n *   float x[C][H + R - 1][S + W - 1]: a tensor of rank 3, which is read\n",
        "\n *   dimension 1 of `k` has to be `C`\n",
        "s[b][i][j] = f16::from_f32(scale * acc);\n",
        "\nint kernels_scores(\n    float scale,\n    const uint16_t *q, const int64_t q_shape[3], const int64_t *q_strides,\n",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_folder_keeps_what_else_is_in_it() {
    let place = Refusing::new();
    fs::create_dir(place.path("lib")).unwrap();
    fs::write(place.path("lib/mine.txt"), "mine").unwrap();
    place.refused(&["dense.json", "-o", "lib", "--name", "double"], 2, "no keyword of C");
    place.refused(&["dense.json", "-o", "lib", "--name", "a-b"], 2, "expected letters, digits and _");
    place.refused(&["dense.json", "-o", "ops.rs"], 3, "ops.rs: cannot be made");
    fs::create_dir(place.path("lib/libkernels.so")).unwrap();
    place.refused(&["dense.json", "-o", "lib"], 3, "lib/libkernels.so: cannot be written: it is a folder");
    assert_eq!(fs::read_to_string(place.path("lib/mine.txt")).unwrap(), "mine");
    assert_eq!(fs::read_dir(place.path("lib")).unwrap().count(), 2);
}

#[test]
fn what_is_no_library_is_refused_before_anything_is_built() {
    let place = Refusing::new();
    let config = fs::read_to_string(place.path("dense.json")).unwrap();
    fs::write(place.path("again.json"), &config).unwrap();
    fs::write(place.path("upper.json"), config.replace("\"dense\"", "\"Dense\"")).unwrap();
    fs::write(place.path("version.json"), config.replace("\"dense\"", "\"version\"")).unwrap();
    let ops = fs::read_to_string(place.path("ops.rs")).unwrap();
    fs::write(
        place.path("ops.rs"),
        [&ops[..], &ops.replace("dense", "Dense"), &ops.replace("dense", "version")].concat(),
    )
    .unwrap();
    fs::write(place.path("keyword.json"), config.replace("\"dense\"", "\"double\"").replace("ops.rs", "keyword.rs"))
        .unwrap();
    fs::write(place.path("keyword.rs"), ops.replace("dense", "double")).unwrap();
    fs::write(place.path("prepared.json"), config.replace("ops.rs", "prepared.rs")).unwrap();
    fs::write(place.path("prepared.rs"), ops.replace("#[dynamic_kernel]", "#[dynamic_kernel(prepared(w))]")).unwrap();
    place.refused(
        &["prepared.json", "-o", "lib"],
        2,
        "prepared.json: `dense` takes operands that are laid out before calls",
    );
    for (configs, sentence) in [
        (["dense.json", "dense.json"], "dense.json: found a second time, expected each config once"),
        (["dense.json", "again.json"], "again.json: found a kernel `dense`, and dense.json has one of that name"),
        (["upper.json", "dense.json"], "dense.json: found a kernel `dense`, and upper.json has one of that name"),
        (["dense.json", "version.json"], "but the library has a function kernels_version of its own"),
        (["dense.json", "keyword.json"], "keyword.rs:2:8: "),
        (["dense.json", "nowhere.json"], "nowhere.json"),
    ] {
        place.refused(&[configs[0], configs[1], "-o", "lib"], 2, sentence);
    }
    fs::write(place.path("list.json"), LIST).unwrap();
    for (list, status, sentence) in [
        ("nowhere.json", 2, "nowhere.json: cannot be read"),
        ("list.json", 2, "list.json: found no layer of `dense`, expected one of conv2d"),
    ] {
        place.refused(&["dense.json", "-o", "lib", "--python", "--shapes", list], status, sentence);
    }
    place.refused(&["dense.json", "-o", "lib", "--shapes", "list.json"], 2, "--python");
    for (name, sentence) in
        [("stdint", "no header and no library of C"), ("lambda", "no word of Python"), ("tail_", "no word of Python")]
    {
        place.refused(&["dense.json", "-o", "lib", "--python", "--name", name], 2, sentence);
    }
    place.refused(
        &["dense.json", "-o", "lib", "--path", "nowhere"],
        2,
        "--path nowhere: found no clone of dietcode there",
    );
    assert!(!place.path("lib").exists());
}

#[test]
fn what_is_needed_and_not_there_is_told() {
    let place = Refusing::new();
    let refused = |variables: &[(&str, &str)], status, sentence| {
        place.refused_with(variables, &["dense.json", "-o", "lib"], status, sentence);
    };
    refused(&[("CC", "no-such-compiler")], 3, "no-such-compiler");
    refused(&[("CARGO", "no-such-cargo")], 3, "no-such-cargo cannot be started; install Rust: https://rustup.rs");
    refused(&[("CARGO", "false")], 3, "the library cannot be built; cargo says:");
    refused(&[("CARGO", "true")], 3, "cargo does not say where it has put the library");
    refused(&[("HOME", ""), ("XDG_CACHE_HOME", "")], 3, "neither XDG_CACHE_HOME nor HOME names a folder");
    refused(&[("XDG_CACHE_HOME", "ops.rs")], 3, "cannot be made");
    assert_eq!(fs::read_dir(place.path("lib")).unwrap().count(), 0);
}
