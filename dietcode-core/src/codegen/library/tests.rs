use dietcode_syntax::{KernelDef, scan};

use super::{Devices, Exported, Library, check_names, check_package};
use crate::instance::Instance;
use crate::machine::cuda::ComputeCapability;

fn library(source: &str) -> Library {
    let annotated = scan(source).unwrap().remove(0);
    let def: KernelDef = annotated.parse().unwrap();
    let shapes = vec![("one \"quoted\" \\ shape".into(), Instance::of(&def, &[]).unwrap())];
    let kernel =
        Exported { def, annotated, config: "/c/\"k\".json".into(), provenance: "a \\ \"default\"".into(), shapes };
    Library { name: "mine".into(), provenance: "dietcode */ 1".into(), kernels: vec![kernel], cuda: None }
}

fn source_of<'a>(sources: &'a [(&str, String)], name: &str) -> &'a str {
    sources.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str()).unwrap()
}

const ODD: &str = r#"
    /// Ends */ a comment, /* begins one.
    ///   * indented
    #[dynamic_kernel(consts(N = 4), config = "configs/k.json")]
    #[inline]
    fn k(threads: &[f32; N], threads_shape: f32, y: &mut [bf16; N]) {
        for i in 0..N { // as it is written
            y[i] = bf16::from_f32(threads_shape * threads[i]);
        }
    }"#;

#[test]
fn arguments_have_names_of_their_own_and_nothing_ends_a_comment() {
    let library = library(ODD);
    let header = library.header();
    let declaration = "
int mine_k(
    const float *threads, const int64_t threads_shape_[1], const int64_t *threads_strides,
    float threads_shape,
    uint16_t *y, const int64_t y_shape[1], const int64_t *y_strides,
    int threads_);
";
    assert!(header.contains(declaration), "{header}");
    let candidate = "
int mine_k_candidate(
    int candidate,
    const float *threads, const int64_t threads_shape_[1], const int64_t *threads_strides,
";
    assert!(header.contains(candidate), "{header}");
    assert!(header.contains("\nconst char *mine_k_candidate_name(int candidate);\n"), "{header}");
    assert!(header.contains("\n * Ends * / a comment, / * begins one.\n *   * indented\n"), "{header}");
    assert!(header.contains("#ifndef MINE_H\n") && header.contains("\n    MINE_INPUT = 1,\n"), "{header}");
    assert_eq!(header.matches("*/").count(), header.matches("/*").count(), "{header}");
}

#[test]
fn a_library_for_devices_has_a_function_more_and_says_what_it_takes() {
    let source = ODD.replace("threads_shape", "stream");
    let mut mine = library(&source);
    assert!(!mine.header().contains("_cuda(") && !mine.header().contains("CUDA_HOST"));
    assert!(source_of(&mine.sources("libmine.so"), "build.rs").contains(".allow_untuned().compile();"));
    let sm_80: ComputeCapability = "sm_80".parse().unwrap();
    mine.cuda = Some(Devices { capabilities: vec![sm_80, "sm_90".parse().unwrap()], emulated: false });
    let header = mine.header();
    let declaration = "
/* The same on a CUDA device. */
int mine_k_cuda(
    const float *threads, const int64_t threads_shape[1], const int64_t *threads_strides,
    float stream,
    uint16_t *y, const int64_t y_shape[1], const int64_t *y_strides,
    int device, void *stream_);
";
    assert!(header.contains(declaration) && !header.contains("CUDA_HOST"), "{header}");
    assert!(header.contains("\n * function returns MINE_UNAVAILABLE.\n */"), "{header}");
    let sources = mine.sources("libmine.so");
    let functions = source_of(&sources, "src/lib.rs");
    assert!(functions.contains("call_on_device(&kernels::k::KERNEL, operands, device, stream_)"), "{functions}");
    syn::parse_file(functions).unwrap();
    let build = source_of(&sources, "build.rs");
    assert!(build.contains(".allow_untuned().cuda([\"sm_80\", \"sm_90\"]).compile();"), "{build}");
    let files = mine.python("libmine.so", "1.2.3");
    let module = files.iter().find(|(name, _)| name == "mine/__init__.py").map(|(_, text)| text).unwrap();
    assert!(module.contains("def k(threads, stream, y, *, threads_=0, stream_=None, device=0):\n"), "{module}");
    assert!(module.contains("(threads, stream, y,), threads_, stream=stream_, device=device)\n"), "{module}");
    mine.cuda = Some(Devices { capabilities: Vec::new(), emulated: true });
    let header = mine.header();
    assert!(header.contains("and no status: the emulated one. */\n    MINE_CUDA_HOST = -1\n};"), "{header}");
    assert!(source_of(&mine.sources("libmine.so"), "build.rs").contains(".allow_untuned().cuda_host().compile();"));
}

#[test]
fn the_package_has_the_nest_as_it_is_written_with_the_config_where_it_stands() {
    let library = library(ODD);
    let sources = library.sources("libmine.so");
    let kernels = source_of(&sources, "src/kernels.rs");
    let kernel = "
#[doc = \"Ends */ a comment, /* begins one.\"]
#[doc = \"  * indented\"]
#[dynamic_kernel(config = \"/c/\\\"k\\\".json\", consts (N = 4))]
pub fn k(threads: &[f32; N], threads_shape: f32, y: &mut [bf16; N]) {
    for i in 0..N { // as it is written
";
    assert!(kernels.contains(kernel), "{kernels}");
    let again = scan(kernels).unwrap().remove(0).parse().unwrap();
    assert_eq!(again.source_hash(), library.kernels[0].def.source_hash());
    let functions = source_of(&sources, "src/lib.rs");
    assert!(functions.contains("Operand::Scalar(threads_shape),"), "{functions}");
    assert!(functions.contains("static k: Candidates = Candidates::new(super::kernels::k::tunable);"), "{functions}");
    assert!(functions.contains(r#"c"dietcode */ 1\nk: a \\ \"default\"".as_ptr()"#), "{functions}");
    syn::parse_file(functions).unwrap();
}

#[test]
fn names_that_two_functions_would_have_are_refused() {
    let [a, b] = ["a.json", "b.json"].map(std::path::Path::new);
    check_names("mine", &[(a, "dense"), (b, "dense2")], true).unwrap();
    let refused = |kernels: &[_]| check_names("mine", kernels, false).unwrap_err().to_string();
    assert!(refused(&[(a, "dense"), (b, "Dense")]).starts_with("b.json: found a kernel `Dense`, and a.json has one"));
    assert!(refused(&[(a, "error_message")]).contains("a function mine_error_message of its own"));
    let of_another = refused(&[(b, "dense_candidate"), (a, "dense")]);
    let own =
        "b.json: found a kernel `dense_candidate`, but the library has a function mine_dense_candidate of `dense`";
    assert!(of_another.starts_with(own), "{of_another}");
    check_names("mine", &[(a, "dense_candidate"), (b, "dense2")], false).unwrap();
    let on_cuda = &[(a, "dense_cuda"), (b, "dense")];
    check_names("mine", on_cuda, false).unwrap();
    let refused = check_names("mine", on_cuda, true).unwrap_err().to_string();
    assert!(refused.contains("the library has a function mine_dense_cuda of `dense`"), "{refused}");
    let constant = check_names("K", &[(a, "OK")], false).unwrap_err().to_string();
    assert!(constant.contains("K_OK is a constant of the library's header"), "{constant}");
    check_names("k", &[(a, "OK")], false).unwrap();
}

#[test]
fn names_of_python_stay_apart() {
    let files = library(&ODD.replace("threads_shape", "is").replace("threads", "is_")).python("libmine.so", "1.2.3");
    let module = files.iter().find(|(name, _)| name == "mine/__init__.py").map(|(_, text)| text).unwrap();
    assert!(module.contains("def k(is_, is__, y, *, threads=0):"), "{module}");
    let files = library(&ODD.replace("fn k(", "fn explore(")).python("libmine.so", "1.2.3");
    assert!(
        files.iter().any(|(name, text)| name == "mine/__init__.py" && text.contains("\ndef explore_(")),
        "{files:?}"
    );
    assert!(check_package("lambda").is_err() && check_package("tail_").is_err() && check_package("mine").is_ok());
}

#[test]
fn names_of_python_are_free_and_nothing_ends_a_docstring() {
    let source = ODD.replace("fn k(", "fn lambda(").replace("* indented", "\\ \"\"\"").replace("threads_shape", "is");
    let files = library(&source).python("libmine.so", "1.2.3");
    let module = files.iter().find(|(name, _)| name == "mine/__init__.py").map(|(_, text)| text).unwrap();
    assert!(module.contains("def lambda_(threads, is_, y, *, threads_=0):\n    \"\"\"Ends */ a comment"), "{module}");
    assert!(module.contains("\n      \\\\ \\\"\\\"\\\"\n\n      f32 threads[4]: "), "{module}");
    let call = "_call(\"lambda\", [(\"threads\", \"f32\", 1, False), (\"is\", \"f32\", 0, False), (\"y\", \"bf16\", 1, True)], (threads, is_, y,), threads_)";
    assert!(module.contains(call), "{module}");
    let parts: Vec<(&str, &str)> = files.iter().map(|(name, text)| (&**name, &**text)).collect();
    for (file, lines) in [
        (
            "backend.py",
            "import zipfile\n\nNAME, VERSION = \"mine\", \"1.2.3\"\nFILES = [\"__init__.py\", \"_call.py\", \"explore.py\", \"libmine.so\"]\n\n\n",
        ),
        (
            "mine/explore.py",
            "import numpy as np\n\nfrom mine._call import call, candidates\n\nKERNELS = {\n    \"lambda\": ([(\"threads\", \"f32\", 1, False), (\"is\", \"f32\", 0, False), (\"y\", \"bf16\", 1, True)], 2, [\n            (\"one \\\"quoted\\\" \\\\ shape\", [[4], [], [4]], 4.0, 33),\n        ]),\n}\n\nSEED = ",
        ),
        ("mine/_call.py", "import pathlib\n\nNAME, INPUT, ON_CUDA = \"mine\", 1, False\n_library = ctypes."),
    ] {
        assert!(parts.iter().any(|(name, text)| *name == file && text.contains(lines)), "{file}: {parts:?}");
    }
}
