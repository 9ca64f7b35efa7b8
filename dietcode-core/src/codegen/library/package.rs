//! The sources of the package that makes a library.

use dietcode_syntax::DType;

use super::{
    Arguments, Besides, CANDIDATE, CANDIDATE_NAME, Devices, Exported, Library, MESSAGE, ON_CUDA, VERSION, arguments,
};

/// What stands in front of the kernels.
const KERNELS_RS: &str = "//! The kernels, as their sources have them. Written by `dietcode build-lib`.

use dietcode_core::{bf16, dynamic_kernel, f16};
";

impl Library {
    /// (name, text) of all sources. `shared` is what the shared library's file is called.
    pub fn sources(&self, shared: &str) -> [(&'static str, String); 3] {
        [("build.rs", self.build_rs(shared)), ("src/kernels.rs", self.kernels_rs()), ("src/lib.rs", self.lib_rs())]
    }

    fn kernels_rs(&self) -> String {
        let kernel = |kernel: &Exported| "\n".to_owned() + &kernel.annotated.elsewhere(&kernel.def, &kernel.config);
        KERNELS_RS.to_owned() + &self.kernels.iter().map(kernel).collect::<String>()
    }

    fn lib_rs(&self) -> String {
        let (message, version) = (self.symbol(MESSAGE), self.symbol(VERSION));
        let head = format!(
            "//! The kernels as functions of C. Written by `dietcode build-lib`.

#[allow(warnings, reason = \"whoever wrote them has seen them\")]
mod kernels;

use std::ffi::{{c_char, c_int, c_void}};

use dietcode_core::runtime::exported::{{self, Candidates, Operand}};

#[unsafe(no_mangle)]
pub extern \"C\" fn {message}() -> *const c_char {{
    exported::error_message()
}}

#[unsafe(no_mangle)]
pub extern \"C\" fn {version}() -> *const c_char {{
    c{:?}.as_ptr()
}}
",
            self.version()
        );
        let candidate = |Exported { def, .. }: &Exported| {
            let name = &def.name;
            format!("    pub(super) static {name}: Candidates = Candidates::new(super::kernels::{name}::tunable);\n")
        };
        let candidates = format!(
            "
/// What can carry out calls of each kernel.
#[allow(non_upper_case_globals, reason = \"they are called as the kernels are\")]
mod candidates {{
    use super::Candidates;

{}}}
",
            self.kernels.iter().map(candidate).collect::<String>()
        );
        head + &candidates + &self.kernels.iter().map(|kernel| self.function(kernel)).collect::<String>()
    }

    /// The function of a kernel.
    fn function(&self, Exported { def, .. }: &Exported) -> String {
        let (arguments, Besides { threads, candidate, device, stream }) = arguments(def);
        let (mut inputs, mut operands) = (String::new(), String::new());
        for (Arguments { data, layout }, param) in arguments.iter().zip(&def.params) {
            match layout {
                None => {
                    let kind = match param.dtype {
                        DType::F64 => "Double",
                        DType::I32 => "Integer",
                        _ => "Scalar",
                    };
                    inputs += &format!("    {data}: {},\n", param.dtype);
                    operands += &format!("        Operand::{kind}({data}),\n");
                }
                Some((shape, strides)) => {
                    inputs +=
                        &format!("    {data}: *const c_void,\n    {shape}: *const i64,\n    {strides}: *const i64,\n");
                    operands +=
                        &format!("        Operand::Tensor {{ data: {data}, shape: {shape}, strides: {strides} }},\n");
                }
            }
        }
        let (symbol, name) = (self.symbol(&def.name), &def.name);
        let on_devices = match self.cuda {
            Some(_) => format!(
                "
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn {symbol}{ON_CUDA}(
{inputs}    {device}: c_int,
    {stream}: *mut c_void,
) -> c_int {{
    let operands = [
{operands}    ];
    // SAFETY: the caller vouches for what the header asks for.
    unsafe {{ exported::call_on_device(&kernels::{name}::KERNEL, operands, {device}, {stream}) }}
}}
"
            ),
            None => String::new(),
        };
        format!(
            "
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn {symbol}(
{inputs}    {threads}: c_int,
) -> c_int {{
    let operands = [
{operands}    ];
    // SAFETY: the caller vouches for what the header asks for.
    unsafe {{ exported::call(&kernels::{name}::KERNEL, operands, {threads}) }}
}}

/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn {symbol}{CANDIDATE}(
    {candidate}: c_int,
{inputs}    {threads}: c_int,
) -> c_int {{
    let operands = [
{operands}    ];
    let candidate = (&candidates::{name}, {candidate});
    // SAFETY: the caller vouches for what the header asks for.
    unsafe {{ exported::call_candidate(&kernels::{name}::KERNEL, candidate, operands, {threads}) }}
}}

#[unsafe(no_mangle)]
pub extern \"C\" fn {symbol}{CANDIDATE_NAME}(candidate: c_int) -> *const c_char {{
    exported::candidate_name(&candidates::{name}, candidate)
}}
{on_devices}"
        )
    }

    /// The build script. Nothing of the library may go while its threads run, so `dlclose` leaves it where it is.
    fn build_rs(&self, shared: &str) -> String {
        let devices = self.cuda.as_ref().map_or_else(String::new, |Devices { capabilities, emulated }| {
            let names: Vec<String> = capabilities.iter().map(|capability| format!("\"{capability}\"")).collect();
            let named = if names.is_empty() { String::new() } else { format!(".cuda([{}])", names.join(", ")) };
            named + if *emulated { ".cuda_host()" } else { "" }
        });
        format!(
            "//! Written by `dietcode build-lib`.

fn main() {{
    // The command says what is not tuned.
    dietcode_build::kernels([\"src/kernels.rs\"]).allow_untuned(){devices}.compile();
    println!(\"cargo::rustc-cdylib-link-arg=-Wl,-soname,{shared},-z,nodelete\");
}}
"
        )
    }
}
