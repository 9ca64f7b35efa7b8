//! Reports as nvcc 13.0 and 12.0 print them, and everything in between.

use proptest::prelude::*;

use super::KernelReport;
use crate::machine::cuda::{DEVICES, blocks_per_sm};

/// What nvcc 13.0 printed of four kernels for two devices: one spills, one calls a function that is not inlined.
const PRINTED: &str = include_str!("ptxas-13.0.txt");

/// In the order of the fields.
fn row(report: &KernelReport) -> (String, &str, [u32; 7]) {
    let KernelReport { capability, symbol, registers, spill_stores, spill_loads, stack_frame, .. } = report;
    let KernelReport { shared_bytes, constant_bytes, barriers, .. } = *report;
    let numbers = [*registers, *spill_stores, *spill_loads, *stack_frame, shared_bytes, constant_bytes, barriers];
    (capability.to_string(), symbol, numbers)
}

#[test]
fn every_kernel_of_every_device_is_read() {
    let reports = KernelReport::parse(PRINTED);
    let rows: Vec<_> = reports.iter().map(row).collect();
    let [sm_80, sm_90] = ["sm_80", "sm_90"].map(str::to_owned);
    assert_eq!(
        rows,
        [
            (sm_80.clone(), "_Z4manyILi96EEvPKfPf", [64, 588, 632, 304, 0, 368, 1]),
            (sm_80.clone(), "calls", [40, 0, 0, 160, 0, 360, 0]),
            (sm_80.clone(), "reverse", [10, 0, 0, 0, 2048, 360, 1]),
            (sm_80, "scale", [8, 0, 0, 0, 0, 360, 0]),
            (sm_90.clone(), "_Z4manyILi96EEvPKfPf", [64, 824, 980, 528, 0, 0, 1]),
            (sm_90.clone(), "calls", [40, 0, 0, 160, 0, 0, 0]),
            (sm_90.clone(), "reverse", [10, 0, 0, 0, 2048, 0, 1]),
            (sm_90, "scale", [10, 0, 0, 0, 0, 0, 0]),
        ]
    );
    let spilling: Vec<&str> = reports.iter().filter(|report| report.spills()).map(|r| r.symbol.as_str()).collect();
    assert_eq!(spilling, ["_Z4manyILi96EEvPKfPf"; 2]);
}

#[test]
fn constants_of_several_banks_are_added_and_barriers_may_be_missing() {
    let text = "\
ptxas info    : Compiling entry function 'k' for 'sm_75'
ptxas info    : Function properties for k
    8 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads
ptxas info    : Used 33 registers, 372 bytes cmem[0], 8 bytes cmem[2], 1 textures
";
    let [report] = KernelReport::parse(text).try_into().unwrap();
    assert_eq!(row(&report), ("sm_75".to_owned(), "k", [33, 4, 2, 8, 0, 380, 0]));
}

/// As the log of NVRTC 13.0 has it.
#[test]
fn nvrtc_says_the_same_in_lines_that_begin_with_its_name() {
    let text = "\
ptxas info    : 12 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
ptxas         .     8 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads
ptxas info    : Used 64 registers, used 1 barriers
ptxas info    : Compile time = 155.245 ms
";
    let [report] = KernelReport::parse(text).try_into().unwrap();
    assert_eq!(row(&report), ("sm_90".to_owned(), "k", [64, 4, 2, 8, 0, 0, 1]));
}

#[test]
fn what_a_launch_adds_counts_as_shared_memory() {
    let reports = KernelReport::parse(PRINTED);
    let reverse = reports.iter().find(|report| report.symbol == "reverse").unwrap();
    assert_eq!(reverse.resources(512, 1000).shared_bytes, 3048);
    assert_eq!(blocks_per_sm(&DEVICES[1], &reverse.resources(512, 0)).blocks, 4);
    assert_eq!(blocks_per_sm(&DEVICES[1], &reverse.resources(512, u32::MAX)).blocks, 0);
}

/// A kernel's lines, as nvcc prints them.
fn print(report: &KernelReport) -> String {
    let KernelReport { capability, symbol, registers, spill_stores, spill_loads, stack_frame, .. } = report;
    let KernelReport { shared_bytes, constant_bytes, barriers, .. } = report;
    format!(
        "ptxas info    : Compiling entry function '{symbol}' for '{capability}'\n\
         ptxas info    : Function properties for {symbol}\n    \
         {stack_frame} bytes stack frame, {spill_stores} bytes spill stores, {spill_loads} bytes spill loads\n\
         ptxas info    : Used {registers} registers, used {barriers} barriers, {shared_bytes} bytes smem, \
         {constant_bytes} bytes cmem[0]\n"
    )
}

fn any_report() -> impl Strategy<Value = KernelReport> {
    (0..DEVICES.len(), "[A-Za-z_$][A-Za-z0-9_$]{0,20}", any::<[u32; 7]>()).prop_map(|(device, symbol, n)| {
        KernelReport {
            capability: DEVICES[device].capability,
            symbol,
            registers: n[0],
            spill_stores: n[1],
            spill_loads: n[2],
            stack_frame: n[3],
            shared_bytes: n[4],
            constant_bytes: n[5],
            barriers: n[6],
            main_loop: None,
            pipes: None,
        }
    })
}

proptest! {
    #[test]
    fn what_is_printed_is_read_back(mut reports in prop::collection::vec(any_report(), 0..6)) {
        reports.sort_by(|a, b| (a.capability, &a.symbol).cmp(&(b.capability, &b.symbol)));
        let text: String = reports.iter().map(print).collect();
        prop_assert_eq!(KernelReport::parse(&text), reports);
    }

    #[test]
    fn no_text_makes_it_panic(text in r"(ptxas info( *:)?|Used |Compiling entry function '|' for 'sm_80'|Function properties for |[0-9]{1,12}| bytes (smem|cmem\[|stack frame|spill stores|spill loads)|, |\n|\PC){0,60}") {
        KernelReport::parse(&text);
    }

    /// A torn or damaged report loses kernels, but invents none.
    #[test]
    fn damage_invents_no_kernel(at in 0..PRINTED.len(), length in 0usize..200, put in "\\PC{0,8}") {
        let end = (at + length).min(PRINTED.len());
        let damaged = [&PRINTED[..at], &put, &PRINTED[end..]].concat();
        prop_assert!(KernelReport::parse(&damaged).len() <= 8);
    }
}
