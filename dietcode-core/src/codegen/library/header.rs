//! The header of a library.

use dietcode_syntax::{Annotated, DType, KernelDef, described};

use super::{
    Arguments, Besides, CANDIDATE, CANDIDATE_NAME, Devices, Exported, Library, MESSAGE, ON_CUDA, VERSION, arguments,
};
use crate::abi::{CUDA_HOST, Status};

/// What a function returns, its name and what it means.
const STATUSES: [(Status, &str, &str); 5] = [
    (Status::Ok, "OK", "The output was computed."),
    (Status::Input, "INPUT", "An argument is not what it should be."),
    (
        Status::Unavailable,
        "UNAVAILABLE",
        "This CPU lacks what the code was compiled for, or there is no memory, no thread or no device.",
    ),
    (Status::Failed, "FAILED", "The kernel has failed."),
    (Status::Internal, "INTERNAL", "A defect of dietcode."),
];

/// The number of the emulated device.
const EMULATED: &str = "CUDA_HOST";

/// What the header of a library defines beside functions.
pub(super) fn constants(library: &str) -> Vec<String> {
    let names = STATUSES.iter().map(|(_, name, _)| *name).chain(["H", EMULATED]);
    names.map(|name| format!("{}_{name}", library.to_uppercase())).collect()
}

impl Library {
    /// The text of the header, for C99 and C++.
    pub fn header(&self) -> String {
        let Library { name, .. } = self;
        let (upper, message, version) = (name.to_uppercase(), self.symbol(MESSAGE), self.symbol(VERSION));
        let about = comment(&format!(
            "Kernels for tensors whose extents are known when they are called. Written by `dietcode build-lib`.

{self_said}

A tensor is three arguments:

  x          its first element, in host memory
  x_shape    its extents, outermost first, one for each dimension
  x_strides  the distances between neighbours in each dimension, counted in elements, or NULL: there is nothing between
             the rows. The last one is 1, and no rows overlap.

The output overlaps no input. `threads` is the number of threads that carry out a call; 0: as many as the environment
variable DIETCODE_NUM_THREADS says, or else as there are cores. The result has the same bits on any number. A function may
be called from many threads at once.

All functions that return an int return one of these. What is wrong with a call's arguments is told before anything is written.

Each kernel has candidates, which compute the same: number 0 is what the kernel's function runs, behind it come the micro-kernels
that it selects from, and the last one is the nest as plain Rust. The function that ends with {CANDIDATE} has one of them carry out
a call, so that each can be checked and timed for itself; that with {CANDIDATE_NAME} says what it is called.{on_devices}",
            self_said = self.version(),
            on_devices = self.cuda.as_ref().map_or_else(String::new, |devices| on_devices(devices, &upper))
        ));
        let emulated = self.cuda.iter().filter(|devices| devices.emulated);
        let emulated = emulated.map(|_| (CUDA_HOST, EMULATED, "A device's number, and no status: the emulated one."));
        let statuses = STATUSES.iter().map(|(status, name, meaning)| (*status as i32, *name, *meaning));
        let constants: Vec<String> = statuses
            .chain(emulated)
            .map(|(value, name, meaning)| format!("    /* {meaning} */\n    {upper}_{name} = {value}"))
            .collect();
        let kernels: String = self.kernels.iter().map(|kernel| self.declaration(kernel)).collect();
        format!(
            "{about}
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {{
#endif

enum {{
{}
}};

/* What was wrong with the last call of this thread that failed, as a sentence, until its next call that fails; never NULL. */
const char *{message}(void);

/* What the library was built by and for, and which micro-kernels each kernel has: what stands at the head of this file. */
const char *{version}(void);
{kernels}
#ifdef __cplusplus
}}
#endif

#endif
",
            constants.join(",\n")
        )
    }

    fn declaration(&self, kernel: &Exported) -> String {
        let Exported { def, annotated, .. } = kernel;
        let (arguments, Besides { threads, candidate, device, stream }) = arguments(def);
        let lines: String = def
            .params
            .iter()
            .zip(&arguments)
            .map(|(param, names)| {
                let (constant, element) = (if param.mutable { "" } else { "const " }, element(param.dtype).0);
                let Arguments { data, layout } = names;
                match layout {
                    None => format!("    {element} {data},\n"),
                    Some((shape, strides)) => format!(
                        "    {constant}{element} *{data}, const int64_t {shape}[{}], const int64_t *{strides},\n",
                        param.dims.len()
                    ),
                }
            })
            .collect();
        let description = comment(&description(def, annotated, element));
        let symbol = self.symbol(&def.name);
        let on_devices = match self.cuda {
            Some(_) => format!(
                "
/* The same on a CUDA device. */
int {symbol}{ON_CUDA}(
{lines}    int {device}, void *{stream});
"
            ),
            None => String::new(),
        };
        format!(
            "
{description}
int {symbol}(
{lines}    int {threads});

/* The same by the candidate of a number. */
int {symbol}{CANDIDATE}(
    int {candidate},
{lines}    int {threads});

/* What the candidate of a number is called; NULL if there is none. */
const char *{symbol}{CANDIDATE_NAME}(int candidate);
{on_devices}"
        )
    }
}

/// What is to be known of functions for CUDA devices.
fn on_devices(devices: &Devices, upper: &str) -> String {
    let emulated = match devices.emulated {
        true => format!(
            " {upper}_{EMULATED} is
the emulated device, which is on every machine: its memory is the host's, it has no stream but NULL, and a call has computed its
output when it returns."
        ),
        false => String::new(),
    };
    format!(
        "

The function that ends with {ON_CUDA} carries out a call on a CUDA device, by its number, as the driver counts them. All tensors are in
its memory; scalars are passed as they are. `stream` is a CUstream or cudaStream_t of the device's primary context, which CUDA's
runtime has, or NULL: the default stream. The call stands in that stream when the function returns, so that the tensors have to stay
until it is done, and an error of the running kernel is one of the stream. Where NVIDIA's driver or the device is not there, the
function returns {upper}_UNAVAILABLE.{emulated}"
    )
}

/// What a kernel computes, what it takes, and what has to fit; a type of elements has a name, and words about it.
pub(super) fn description(
    def: &KernelDef,
    annotated: &Annotated,
    element: impl Fn(DType) -> (&'static str, &'static str),
) -> String {
    let mut text = annotated.docs().join("\n");
    text.push_str("\n\n");
    for (at, param) in def.params.iter().enumerate() {
        let dims: String = param.dims.iter().map(|dim| format!("[{dim}]")).collect();
        let (element, words) = element(param.dtype);
        text += &format!("  {element} {}{dims}: {}{words}\n", param.name, described::role(def, at));
    }
    text.push('\n');
    described::extents(def).iter().for_each(|line| text += &format!("  {line}\n"));
    let indices = described::checked_indices(def);
    if !indices.is_empty() {
        text += &format!("\nAn index that leaves its tensor is an error: {}.\n", indices.join(", "));
    }
    text.push('\n');
    described::nest(def, &annotated.item).lines().for_each(|line| text += &format!("    {line}\n"));
    text
}

/// Lines as a comment, which nothing in them ends.
fn comment(text: &str) -> String {
    let text = text.trim().replace("*/", "* /").replace("/*", "/ *");
    let lines: String = text.lines().map(|line| format!(" * {line}").trim_end().to_owned() + "\n").collect();
    format!("/*\n{lines} */")
}

/// The type of elements in C, which has none of 16 bits: their bits are an integer.
fn element(dtype: DType) -> (&'static str, &'static str) {
    match dtype {
        DType::F32 => ("float", ""),
        DType::F16 => ("uint16_t", ", the bits of IEEE 754 binary16"),
        DType::BF16 => ("uint16_t", ", the upper half of the bits of a float"),
        DType::F64 => ("double", ""),
        DType::U8 => ("uint8_t", ""),
        DType::I8 => ("int8_t", ""),
        DType::I32 => ("int32_t", ""),
    }
}
