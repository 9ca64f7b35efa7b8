//! A Python package around a library, from which pip makes a wheel.
//!
//! Its functions take whatever says where its elements are, by `__array_interface__` or DLPack, and copy nothing. ctypes calls the library, so that one
//! wheel serves any version of Python 3.

use dietcode_syntax::KernelDef;

use super::{Arguments, Exported, Library, arguments, header};
use crate::abi::Status;
use crate::{Error, Result};

const CALL: &str = include_str!("python/call.py");
const BACKEND: &str = include_str!("python/backend.py");

/// Words of Python that a name in a nest may be.
#[rustfmt::skip]
const KEYWORDS: [&str; 16] = [
    "False", "True", "def", "del", "elif", "except", "finally", "from", "global", "import", "is", "lambda", "nonlocal", "pass", "raise", "with",
];

impl Library {
    /// (path, text) of all files but the shared library, which is called `shared` and goes beside `__init__.py`.
    pub fn python(&self, shared: &str, version: &str) -> [(String, String); 4] {
        let name = &self.name;
        let manifest = "# Written by `dietcode build-lib`.
[build-system]
requires = []
build-backend = \"backend\"
backend-path = [\".\"]
";
        let of_wheel =
            format!("NAME, VERSION = {name:?}, {version:?}\nFILES = [\"__init__.py\", \"_call.py\", {shared:?}]\n");
        let of_calls = format!(
            "NAME, INPUT = {name:?}, {}\n_library = ctypes.CDLL(str(pathlib.Path(__file__).with_name({shared:?})))\n",
            Status::Input as i32
        );
        [
            ("pyproject.toml".to_owned(), manifest.to_owned()),
            ("backend.py".to_owned(), behind_imports(BACKEND, &of_wheel)),
            (format!("{name}/_call.py"), behind_imports(CALL, &of_calls)),
            (format!("{name}/__init__.py"), self.module()),
        ]
    }

    /// The functions, apart from what they call: a kernel may have the name of anything that Python has.
    fn module(&self) -> String {
        let head = "\"\"\"Kernels for tensors whose extents are known when they are called. Written by `dietcode build-lib`.

An array is anything with `__array_interface__` or `__dlpack__` in host memory, and is not copied; an output is written in place. `threads` is
the number of threads; 0: as many as DIETCODE_NUM_THREADS says, or else as there are cores. What is wrong with a call is a ValueError or a
TypeError, before anything is written; a RuntimeError says that it cannot be carried out here.
\"\"\"

from ._call import call as _call, version
";
        let names = free(self.kernels.iter().map(|kernel| &*kernel.def.name));
        head.to_owned()
            + &self.kernels.iter().zip(names).map(|(kernel, name)| function(kernel, &name)).collect::<String>()
    }
}

/// The text of a module with these lines behind its imports.
fn behind_imports(module: &str, lines: &str) -> String {
    let at = module.rfind("\nimport ").map_or(0, |import| import + 1);
    let end = module[at..].find('\n').map_or(module.len(), |line| at + line + 1);
    format!("{}\n{lines}{}", &module[..end], &module[end..])
}

/// A function that checks what C cannot, and calls the library's.
fn function(Exported { def, annotated, .. }: &Exported, name: &str) -> String {
    let (arguments, threads) = arguments(def);
    let names = free(arguments.iter().map(|Arguments { data, .. }| &**data)).join(", ");
    let text = header::description(def, annotated, |dtype| (dtype.name(), ""))
        .replace('\\', "\\\\")
        .replace("\"\"\"", "\\\"\\\"\\\"");
    let doc: String = text.trim().lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect();
    format!(
        "\n\ndef {}({names}, *, {threads}=0):\n    \"\"\"{}    \"\"\"\n    _call({:?}, {}, ({names},), {threads})\n",
        name,
        doc.trim_start(),
        def.name,
        parameters(def)
    )
}

/// `(name, element type, rank, whether it is written)` of each parameter.
fn parameters(def: &KernelDef) -> String {
    let params = def.params.iter().map(|param| {
        let written = if param.mutable { "True" } else { "False" };
        format!("({:?}, \"{}\", {}, {written})", param.name, param.dtype, param.dims.len())
    });
    format!("[{}]", params.collect::<Vec<_>>().join(", "))
}

/// Names as Python can have them: each is another one, as they were.
fn free<'n>(names: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut taken: Vec<String> = names.clone().map(str::to_owned).collect();
    let of = |name: &str| {
        let mut free = name.to_owned();
        while KEYWORDS.contains(&&*free) || (free != name && taken.contains(&free)) {
            free.push('_');
        }
        taken.push(free.clone());
        free
    };
    names.map(of).collect()
}

/// Checks that a library's name can be that of a Python package.
///
/// # Errors
/// [`ErrorKind::Input`](crate::ErrorKind::Input), with what is expected.
pub fn check_package(library: &str) -> Result<()> {
    if KEYWORDS.contains(&library) || library.ends_with('_') {
        let expected = "expected no word of Python, and none that ends with _";
        return Err(Error::input(format!("found the name `{library}` for a Python package: {expected}")));
    }
    Ok(())
}
