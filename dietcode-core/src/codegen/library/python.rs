//! A Python package around a library, from which pip makes a wheel.
//!
//! Its functions take whatever says where its elements are, by `__array_interface__` or DLPack, and copy nothing. ctypes calls the library,
//! so that one wheel serves any version of Python 3.

use dietcode_syntax::{KernelDef, Role};
use serde_json::Value;

use super::{Arguments, Besides, Exported, Library, arguments, header};
use crate::abi::Status;
use crate::instance::Instance;
use crate::runtime::tunable::OTHER_ROUNDINGS;
use crate::{Error, Result};

const CALL: &str = include_str!("python/call.py");
const EXPLORE: &str = include_str!("python/explore.py");
const BACKEND: &str = include_str!("python/backend.py");

/// Words of Python that a name in a nest may be, and the module that importing it would put in place of a function.
#[rustfmt::skip]
const KEYWORDS: [&str; 17] = [
    "False", "True", "def", "del", "elif", "except", "finally", "from", "global", "import", "is", "lambda", "nonlocal", "pass", "raise", "with", "explore",
];

impl Library {
    /// (path, text) of all files but the shared library, which is called `shared` and goes beside `__init__.py`.
    pub fn python(&self, shared: &str, version: &str) -> [(String, String); 5] {
        let name = &self.name;
        let manifest = "# Written by `dietcode build-lib`.
[build-system]
requires = []
build-backend = \"backend\"
backend-path = [\".\"]
";
        let of_wheel = format!(
            "NAME, VERSION = {name:?}, {version:?}\nFILES = [\"__init__.py\", \"_call.py\", \"explore.py\", {shared:?}]\n"
        );
        let of_calls = format!(
            "NAME, INPUT, ON_CUDA = {name:?}, {}, {}\n_library = ctypes.CDLL(str(pathlib.Path(__file__).with_name({shared:?})))\n",
            Status::Input as i32,
            if self.cuda.is_some() { "True" } else { "False" }
        );
        [
            ("pyproject.toml".to_owned(), manifest.to_owned()),
            ("backend.py".to_owned(), behind_imports(BACKEND, &of_wheel)),
            (format!("{name}/_call.py"), behind_imports(CALL, &of_calls)),
            (format!("{name}/explore.py"), behind_imports(&EXPLORE.replace("NAME", name), &self.explored())),
            (format!("{name}/__init__.py"), self.module()),
        ]
    }

    /// What is explored: of each kernel its parameters, which of them is the output, and the shapes, each with its name, the extents of all
    /// parameters, the operations of a call, and how many roundings a term of a result passes at most.
    fn explored(&self) -> String {
        let shape = |def: &KernelDef, (name, instance): &(String, Instance)| {
            format!(
                "            ({}, {:?}, {:?}, {}),\n",
                Value::from(&**name),
                instance.dims,
                instance.flops,
                roundings(def, &instance.shape)
            )
        };
        let kernel = |Exported { def, shapes, .. }: &Exported| {
            let shapes: String = shapes.iter().map(|of| shape(def, of)).collect();
            let (name, parameters, output) = (&def.name, parameters(def), def.output);
            format!("    {name:?}: ({parameters}, {output}, [\n{shapes}        ]),\n")
        };
        let kernels: String = self.kernels.iter().map(kernel).collect();
        format!("from {}._call import call, candidates\n\nKERNELS = {{\n{kernels}}}\n", self.name)
    }

    /// The functions, apart from what they call: a kernel may have the name of anything that Python has.
    fn module(&self) -> String {
        let on_devices = match self.cuda {
            Some(_) => {
                "
All arrays may be on one CUDA device instead, with `__dlpack__` or `__cuda_array_interface__`. `stream` is the handle of one of its streams, an
integer; None: the one that arrays name by the latter, or else the default stream. The kernel may still run when a function returns. `device` is
the number of the device where only `__cuda_array_interface__` is known.
"
            }
            None => "",
        };
        let head = format!(
            "\"\"\"Kernels for tensors whose extents are known when they are called. Written by `dietcode build-lib`.

An array is anything with `__array_interface__` or `__dlpack__` in host memory, and is not copied; an output is written in place. `threads` is
the number of threads; 0: as many as DIETCODE_NUM_THREADS says, or else as there are cores. What is wrong with a call is a ValueError or a
TypeError, before anything is written; a RuntimeError says that it cannot be carried out here.
{on_devices}\"\"\"

from ._call import call as _call, version
"
        );
        let names = free(self.kernels.iter().map(|kernel| &*kernel.def.name));
        head + &self.kernels.iter().zip(names).map(|(kernel, name)| self.wrapper(kernel, &name)).collect::<String>()
    }

    /// A function that checks what C cannot, and calls the library's.
    fn wrapper(&self, Exported { def, annotated, .. }: &Exported, name: &str) -> String {
        let (arguments, Besides { threads, stream, device, .. }) = arguments(def);
        let names = free(arguments.iter().map(|Arguments { data, .. }| &**data)).join(", ");
        let text = header::description(def, annotated, |dtype| (dtype.name(), ""))
            .replace('\\', "\\\\")
            .replace("\"\"\"", "\\\"\\\"\\\"");
        let doc: String = text.trim().lines().map(|line| format!("    {line}").trim_end().to_owned() + "\n").collect();
        let (taken, passed) = match self.cuda {
            Some(_) => (format!(", {stream}=None, {device}=0"), format!(", stream={stream}, device={device}")),
            None => (String::new(), String::new()),
        };
        format!(
            "\n\ndef {name}({names}, *, {threads}=0{taken}):\n    \"\"\"{}    \"\"\"\n    _call({:?}, {}, ({names},), {threads}{passed})\n",
            doc.trim_start(),
            def.name,
            parameters(def)
        )
    }
}

/// How many roundings each term of a result passes at most: one for each iteration of the reduced loops, and what stands in a term and
/// behind the sum may take, as `runtime::tunable` counts them.
fn roundings(def: &KernelDef, shape: &[i64]) -> i64 {
    let reduced = def.loops.iter().filter(|l| l.role == Role::Reduce);
    let extents = reduced.map(|l| l.extent.evaluate(|name| def.value_at(shape, name)).unwrap_or(i64::MAX));
    extents.fold(1, i64::saturating_mul).saturating_add(OTHER_ROUNDINGS.into())
}

/// The text of a module with these lines behind its imports.
fn behind_imports(module: &str, lines: &str) -> String {
    let at = module.rfind("\nimport ").map_or(0, |import| import + 1);
    let end = module[at..].find('\n').map_or(module.len(), |line| at + line + 1);
    format!("{}\n{lines}{}", &module[..end], &module[end..])
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
