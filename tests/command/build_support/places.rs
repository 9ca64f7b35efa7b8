//! Crates as users have them: by another name of the dependency, without `unsafe`, with kernels in every kind of place; and
//! what a kernel is told that the build script has not read.

use super::package::Package;

/// A kernel that adds a number.
fn adds(name: &str, number: &str) -> String {
    format!(
        "
/// Adds {number}.
#[dynamic_kernel]
pub fn {name}(x: &[f32; M], y: &mut [f32; M]) {{
    for i in 0..M {{
        y[i] = x[i] + {number}; // so much
    }}
}}
"
    )
}

/// A documented module file with such a kernel.
fn module(declarations: &str, name: &str, number: &str) -> String {
    format!("//! A module.\nuse dc::dynamic_kernel;\n{declarations}\n{}", adds(name, number))
}

/// Calls each kernel, and says what it has added.
const MAIN: &str = "
#![forbid(unsafe_code)]
mod a;
use dc::{dynamic_kernel, runtime::Tensor};
use dense as library;

macro_rules! added {
    ($($kernel:path),*) => {
        $({
            let mut y = Tensor::zeros(&[5])?;
            $kernel(&Tensor::zeros(&[5])?, &mut y)?;
            print!(\"{} \", y.as_slice()[4]);
        })*
    };
}

fn main() -> dc::Result<()> {
    added!(of_main, a::of_a, a::b::of_b, library::a::of_a, library::of_lib, library::inner::deep::of_deep);
    added!(library::inner::inline::of_inline, library::odd::of_odd);
    println!(\"and a set of {}\", library::set::SET.configurations.len());
    Ok(())
}
";

/// The program's own test, which has a kernel too.
const TEST: &str = "
#![forbid(unsafe_code)]
use dc::{dynamic_kernel, runtime::Tensor};

#[test]
fn it_adds() {
    let mut y = Tensor::zeros(&[5]).unwrap();
    of_test(&Tensor::zeros(&[5]).unwrap(), &mut y).unwrap();
    assert_eq!(y.as_slice(), [9.0; 5]);
}
";

#[test]
fn a_crate_without_unsafe_has_kernels_in_every_place() {
    let package = Package::new();
    package.replace("Cargo.toml", "dietcode-core = {", "dc = { package = \"dietcode-core\",");
    let build = "kernels([\"src/lib.rs\", \"src/main.rs\", \"tests/own.rs\"]).cuda_host().with_set(\"configs\")";
    package.replace("build.rs", "kernels([\"src/ops.rs\"])", build);
    for set in ["cpu_avx2", "cpu_avx512"] {
        package.write(&format!("configs/{set}.json"), "{ \"naive\": [{ \"cache_line_size\": [64] }] }");
    }
    let library = "//! A library.
#![forbid(unsafe_code)]
#![deny(warnings, missing_docs)]
pub mod a;
#[path = \"../odd/place.rs\"]
pub mod odd;
pub mod inner {
    //! With modules in it.
    pub mod deep;
    pub mod inline {
        //! Here.
        use dc::dynamic_kernel;
INLINE
    }
}
pub mod set {
    //! The set.
    include!(concat!(env!(\"OUT_DIR\"), \"/dietcode-set/registry.rs\"));
}
use dc::dynamic_kernel;
";
    package.write("src/lib.rs", &(library.replace("INLINE", &adds("of_inline", "5.0")) + &adds("of_lib", "1.0")));
    package.write("src/main.rs", &(MAIN.to_owned() + &adds("of_main", "2.0")));
    package.write("src/a.rs", &module("pub mod b;", "of_a", "3.0"));
    package.write("src/a/b.rs", &module("", "of_b", "4.0"));
    package.write("src/inner/deep/mod.rs", &module("", "of_deep", "6.0"));
    package.write("odd/place.rs", &module("", "of_odd", "7.0"));
    package.write("tests/own.rs", &(TEST.to_owned() + &adds("of_test", "9.0")));

    let run = package.cargo_with(&["run"], &[("DIETCODE_TARGETS", "cpu,cuda-host")]);
    assert!(run.succeeded && run.text.contains("2 3 4 3 1 6 5 7 and a set of"), "{}", run.text);
    assert_eq!(run.text.matches("run default micro-kernels").count(), 1, "{}", run.text);
    let test = package.cargo(&["test", "--test", "own"]);
    assert!(test.succeeded && test.text.contains("1 passed"), "{}", test.text);

    // A link leads to a crate that is documented already.
    for name in ["dietcode-core", "dense"] {
        let doc = package.cargo_with(&["doc", "--lib", "--no-deps", "-p", name], &[("RUSTDOCFLAGS", "-D warnings")]);
        assert!(doc.succeeded, "{}", doc.text);
    }
    let page = package.documented("dense/fn.of_lib.html");
    let page = page.split_once("docblock").unwrap().1;
    let order = ["Adds 1.0.", "Parameters", "&amp;[f32; M]", "Nest", "y[i] = x[i] + 1.0; // so much", "Errors"];
    let places: Vec<Option<usize>> = order.iter().map(|text| page.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} in {page}");
    for linked in ["dietcode_core::runtime::operand::Input", "dietcode_core::error::ErrorKind::Unavailable"] {
        assert!(page.contains(&format!("{linked}\"")), "{linked} in {page}");
    }
    assert!(!page.contains("href=\"::"), "{page}");
}

#[test]
fn a_member_of_a_workspace_has_its_kernels_through_the_facade() {
    let package = Package::new();
    let core = "dietcode-core = { path = \"";
    let (_, path) = package.read("Cargo.toml").split_once(core).map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let root = path.split_once("/dietcode-core").unwrap().0.to_owned();
    let manifest = |name: &str, rest: &str| format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n{rest}");
    package.write(
        "Cargo.toml",
        "[workspace]\nmembers = [\"facade\", \"member\"]\nresolver = \"3\"\n\n[workspace.dependencies]\n\
             f-a = { package = \"dietcode\", path = \"facade\" }\n",
    );
    let of_facade = format!("[dependencies]\n{core}{root}/dietcode-core\" }}\n");
    package.write("facade/Cargo.toml", &manifest("dietcode", &of_facade));
    package.write("facade/src/lib.rs", "pub use dietcode_core as core;\npub use dietcode_core::{dynamic_kernel, f16};");
    let of_member = format!(
        "[dependencies]\nf-a.workspace = true\n\n[build-dependencies]\n\
         dietcode-build = {{ path = \"{root}/build-support\" }}\n"
    );
    package.write("member/Cargo.toml", &manifest("dense", &of_member));
    package.write("member/build.rs", "fn main() { dietcode_build::kernels([\"src/main.rs\"]).compile(); }");
    let main = "use f_a::{dynamic_kernel, f16};

#[dynamic_kernel]
pub fn narrow(x: &[f32; M], y: &mut [f16; M]) {
    for i in 0..M {
        y[i] = f16::from_f32(x[i]);
    }
}

fn main() {
    let mut y = f_a::core::runtime::Tensor::<f16>::zeros(&[3]).unwrap();
    narrow(&f_a::core::runtime::Tensor::full(&[3], 0.5).unwrap(), &mut y).unwrap();
    println!(\"{:?}\", y.as_slice());
}
";
    package.write("member/src/main.rs", main);
    let run = package.cargo(&["run", "-p", "dense"]);
    assert!(run.succeeded && run.text.contains("[0.5, 0.5, 0.5]"), "{}", run.text);

    package.write("member/src/main.rs", &main.replace("#[dyn", "include!(\"../part.rs\");\n#[dyn"));
    package.write("member/part.rs", &adds("of_part", "1.0"));
    let unlisted = package.cargo_with(&["check", "-p", "dense"], &[("DIETCODE_SKIP_NATIVE", "1")]);
    let list = "which has not read part.rs: list the file in build.rs, `dietcode_build::kernels([\"src/main.rs\", \"part.rs\"])`";
    assert!(!unlisted.succeeded && unlisted.text.contains(list), "{}", unlisted.text);
}

/// One story, of one kernel that moves.
#[test]
fn a_kernel_that_was_not_read_is_told_why_and_what_to_do() {
    let package = Package::new();
    let ops = package.read("src/ops.rs");
    let main = package.read("src/main.rs");
    let kernel = adds("moving", "1.0");
    let check = |ops: &str, main: &str| {
        package.write("src/ops.rs", ops);
        package.write("src/main.rs", &format!("{main}\nuse dietcode_core::dynamic_kernel;\n"));
        package.cargo_with(&["check"], &[("DIETCODE_SKIP_NATIVE", "1")])
    };
    let assert_says = |ops: &str, main: &str, words: &[&str]| {
        let checked = check(ops, main);
        assert!(!checked.succeeded, "{}", checked.text);
        for word in words {
            assert!(checked.text.contains(word), "`{word}` in {}", checked.text);
        }
        assert!(!checked.text.contains("could not compile `dense` (bin \"dense\") due to 2"), "{}", checked.text);
    };

    let list = "list the file in build.rs, `dietcode_build::kernels([\"src/ops.rs\", \"src/main.rs\"])`";
    assert_says(&ops, &(main.clone() + &kernel), &["has not read src/main.rs", list]);

    let written =
        format!("{ops}\nmacro_rules! write {{ ($name:ident) => {{ {} }} }}\nwrite!(moving);\n", adds("$name", "1.0"));
    assert_says(&written, &main, &["kernel `moving` is written by a macro", "write the function out"]);

    // One of the same name is what the build script has read.
    let both = written + "mod other { use dietcode_core::dynamic_kernel;" + &adds("moving", "2.0") + "}";
    assert_says(&both, &main, &["kernel `moving` is written by a macro"]);

    let handed_on = format!("{ops}\nmacro_rules! same {{ ($($all:tt)*) => {{ $($all)* }} }}\nsame! {{ {kernel} }}\n");
    assert_says(&handed_on, &main, &["kernel `moving` does not stand in src/ops.rs", "outside the calls of macros"]);

    let own = format!("{main}\nmod own {{ use dietcode_core::dynamic_kernel;\n{} }}", adds("row_sum", "1.0"));
    assert_says(
        &ops,
        &own,
        &["kernel `row_sum` is not the one that the build script has read at src/ops.rs:", "names of their own"],
    );

    assert!(check(&(ops + &kernel), &main).succeeded);
}
