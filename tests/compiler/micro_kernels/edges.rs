//! What an edge takes of a GPU in each of its forms, in the table of `docs/cuda.md`, which `DIETCODE_BLESS=1` writes anew.

use std::ops::AddAssign;

use dietcode_core::codegen::cuda::CudaUnit;
use dietcode_core::ir::Stmt;
use dietcode_core::lower::lower_observed;
use dietcode_core::machine::Target;
use dietcode_core::machine::cuda::{DeviceLimits, KernelReport, KernelSass};
use dietcode_core::sketch::{Blocked, apply};
use dietcode_core::{codegen, frontend};
use dietcode_syntax::KernelDef;

use super::compiled::Compiler;
use super::{document, sets};
use crate::common::rows::{check_unit, device, instances};
use crate::common::shipped;

/// A kernel, its schedule in the words of a table, and in parameters; those of the sets are found by the first few.
struct Nest {
    name: &'static str,
    kernel: &'static str,
    parameters: &'static str,
}

/// Threads copy and multiply element by element, so that each form can be printed.
const ELEMENTWISE: [Nest; 3] = [
    Nest {
        name: "dense, 64 × 64 × 8 by 256 threads",
        kernel: "dense",
        parameters: r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
            "stage": {"x": {"pad": 4, "reduce_outside": true}, "w": {"pad": 4, "reduce_outside": true}}}"#,
    },
    Nest {
        name: "batch_matmul, 64 × 64 × 8 by 256 threads",
        kernel: "batch_matmul",
        parameters: r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
            "stage": {"x": {"pad": 4, "reduce_outside": true}, "w": {"reduce_outside": true}}}"#,
    },
    Nest {
        name: "conv2d, 32 channels × 4 × 16 × 8 by 256 threads",
        kernel: "conv2d",
        parameters: r#"{"thread": {"o": 16, "w": 16}, "inner": {"o": 2, "h": 4}, "reduce": {"c": 8, "r": 1, "s": 1},
            "stage": {"x": {}, "k": {"reduce_outside": true}}}"#,
    },
];

/// By vectors, ahead, by matrix units: what takes no predicates in its sum.
const BY_VECTORS: [Nest; 3] = [
    Nest {
        name: "matmul_nt, 128 × 128 × 8, 2 tiles",
        kernel: "matmul_nt",
        parameters: r#"{"thread": {"i": 16, "j": 16}, "vthread": {"i": 2, "j": 2}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8},
            "stage": {"x": {"vector": 4, "pad": 4, "reduce_outside": true}, "w": {"vector": 4, "pad": 4, "reduce_outside": true}},
            "stages": 2, "fragments": 2, "store": 4}"#,
    },
    Nest {
        name: "batch_matmul, 64 × 64 × 8, 3 tiles",
        kernel: "batch_matmul",
        parameters: r#"{"thread": {"i": 16, "j": 16}, "inner": {"i": 4, "j": 4}, "reduce": {"k": 8}, "stages": 3, "async": true,
            "stage": {"x": {"vector": 4}, "w": {"vector": 4}}, "store": 4}"#,
    },
    Nest {
        name: "matmul_nt_f16, 128 × 128 × 32, 4 tiles",
        kernel: "matmul_nt_f16",
        parameters: r#"{"thread": {"i": 2, "j": 2}, "inner": {"i": 4, "j": 8}, "reduce": {"k": 32}, "matrix_unit": "half", "stages": 4,
            "async": true, "stage": {"x": {"vector": 8, "swizzle": 8}, "w": {"vector": 8, "swizzle": 8}}, "store": 2}"#,
    },
];

impl Nest {
    fn def(&self) -> KernelDef {
        shipped::kernel(self.kernel)
    }

    /// The unit of a form.
    fn unit(&self, form: Form) -> CudaUnit {
        let def = self.def();
        let (program, device) = (frontend::program(&def), device("sm_80"));
        let blocked: Blocked = serde_json::from_str(self.parameters).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let blocked = Blocked { partition: form == Form::Partitioned, ..blocked };
        let (micro_kernel, _) = blocked.micro_kernel(&program, device).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        let mut lowered = apply(&program, &Target::Cuda(*device), &micro_kernel.trace).expect("it was lowered before");
        if form == Form::Predicated {
            // What the first pass builds is right by itself.
            let mut observe = |pass: &'static str, body: &Stmt| {
                if pass == "nest" {
                    lowered.nests[0].body = body.clone();
                }
            };
            lower_observed(&lowered.schedules[0], &mut observe).expect("it was lowered before");
        }
        codegen::cuda::translation_unit(&def, &micro_kernel.name(), &lowered).expect("it is printed")
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Predicated,
    Partitioned,
    Padded,
}

impl Form {
    const ALL: [Form; 3] = [Form::Predicated, Form::Partitioned, Form::Padded];

    fn name(self) -> &'static str {
        match self {
            Form::Predicated => "predicated",
            Form::Partitioned => "partitioned",
            Form::Padded => "padded",
        }
    }
}

/// The cells of units on a device: registers, bytes that are spilled, instructions of the kernel and of its main loop.
fn cells(compiler: &Compiler, units: &[CudaUnit], device: &DeviceLimits) -> Vec<String> {
    let of_unit = |mut kernels: Vec<(KernelReport, KernelSass)>| {
        let (report, sass) = kernels.swap_remove(0);
        let main_loop = sass.main_loop.as_ref().map_or("–".to_owned(), |mix| mix.total().to_string());
        format!(
            " {} | {} | {} | {main_loop} |",
            report.registers,
            report.spill_stores + report.spill_loads,
            sass.whole.total()
        )
    };
    compiler.machine_code(&units.iter().collect::<Vec<_>>(), device.capability).into_iter().map(of_unit).collect()
}

#[test]
fn the_documents_table_is_what_the_forms_take() {
    let compiler = Compiler::find();
    let devices = sets::SETS.map(device);
    let mut text =
        "| nest | edge | sm_80: registers | spilled | instructions | main loop | sm_90: registers | spilled | \
                    instructions | main loop |\n|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    // By form, in each of which a kernel has another name: those of one are compiled together.
    let rows = Form::ALL.map(|form| {
        let nests = ELEMENTWISE.iter().chain(BY_VECTORS.iter().filter(|_| form != Form::Predicated));
        let units: Vec<CudaUnit> = nests.map(|nest| nest.unit(form)).collect();
        let [first, second] = devices.map(|device| cells(&compiler, &units, device));
        first.into_iter().zip(second).map(|(first, second)| first + &second).collect::<Vec<_>>()
    });
    for (at, nest) in ELEMENTWISE.iter().chain(&BY_VECTORS).enumerate() {
        for (form, rows) in Form::ALL.into_iter().zip(&rows) {
            if let Some(cells) = rows.get(at) {
                text.add_assign(&format!("| {} | {} |{cells}\n", nest.name, form.name()));
            }
        }
    }
    document::holds(&compiler, "forms of edges", "Code", &text);
}

/// All three compute the same.
#[test]
fn each_form_equals_the_reference() {
    for (nest, shapes) in ELEMENTWISE.iter().zip([
        &[&[64, 8, 64][..], &[65, 9, 63], &[3, 0, 5]][..],
        &[&[2, 64, 8, 64], &[3, 65, 9, 63]],
        &[&[8, 4, 3, 3, 16, 32], &[9, 5, 3, 2, 17, 33]],
    ]) {
        let def = nest.def();
        for form in Form::ALL {
            check_unit(&nest.unit(form), instances(&def, shapes));
        }
    }
}
