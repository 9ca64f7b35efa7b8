//! Control flow as nvdisasm prints it, and what a compiler makes of loops that are known.

use super::super::{Nvcc, Nvdisasm};
use super::*;

/// The kernels of a text, each with the counts of its main loop: all, products.
fn main_loops(text: &str) -> Vec<(String, Option<[u32; 2]>)> {
    let loops = KernelSass::parse(text).into_iter();
    loops.map(|kernel| (kernel.symbol, kernel.main_loop.map(|mix| [mix.total(), mix.products()]))).collect()
}

/// A kernel of instructions and labels, a line each.
fn kernel(symbol: &str, lines: &str) -> String {
    let line = |line: &str| match line.trim() {
        label if label.ends_with(':') => format!("{label}\n"),
        instruction => format!("        /*0010*/                   {instruction} ;\n"),
    };
    let code: String = lines.trim().lines().map(line).collect();
    format!("\t.section\t.text.{symbol},\"ax\",@progbits\n\t.sectioninfo\t@\"SHI_REGISTERS=8\"\n{symbol}:\n{code}")
}

fn main_loop(lines: &str) -> Option<[u32; 2]> {
    main_loops(&kernel("k", lines)).swap_remove(0).1
}

#[test]
fn a_loop_is_all_from_which_its_head_is_reached_again() {
    // What a branch skips, and what stands behind the end of the kernel, is in it; what leaves it is not.
    let skips = "MOV R1, R2\n.L_0:\nFFMA R1, R1, R1, R1\n@P0 BRA `(.L_1)\nLDS R2, [R3]\n.L_1:\n@!P1 BRA `(.L_0)\nEXIT";
    assert_eq!(main_loop(skips), Some([4, 1]));
    let behind = ".L_0:\nFFMA R1, R1, R1, R1\n@P0 BRA `(.L_9)\n.L_1:\n@P1 BRA `(.L_0)\nEXIT\n.L_9:\nLDG R2, [R4]\nBRA `(.L_1)\n.L_8:\nBRA `(.L_8)";
    assert_eq!(main_loop(behind), Some([5, 1]));
    let leaves = ".L_0:\nHMMA R1\n@P0 BRA `(.L_2)\nBRA `(.L_0)\n.L_2:\nFFMA R1, R1, R1, R1\nFFMA R1, R1, R1, R1\nEXIT";
    assert_eq!(main_loop(leaves), Some([3, 1]));
    // A branch with its condition among its operands goes on too, and one that is not reached goes nowhere.
    let operand = ".L_0:\nFFMA R1, R1, R1, R1\nBRA.U UP0, `(.L_0)\nEXIT\nBRA `(.L_0)\nMOV R1, R2";
    assert_eq!(main_loop(operand), Some([2, 1]));
}

#[test]
fn of_several_loops_it_is_the_one_with_most_products_of_its_own() {
    let inner = ".L_1:\nHMMA R1\nHMMA R2\n@P0 BRA `(.L_1)\n";
    let nested = format!(".L_0:\nFFMA R1, R1, R1, R1\n{inner}IADD3 R1, R1, R2, RZ\n@P1 BRA `(.L_0)\nEXIT");
    assert_eq!(main_loop(&nested), Some([3, 2]));
    // Of two that have as many, the shorter.
    let twice = format!(".L_0:\nNOP\nHMMA R1\nHMMA R2\n@P0 BRA `(.L_0)\n{inner}EXIT");
    assert_eq!(main_loop(&twice), Some([3, 2]));
    assert_eq!(main_loop(&format!("{inner}.L_0:\nNOP\nHMMA R1\nHMMA R2\n@P0 BRA `(.L_0)\nEXIT")), Some([3, 2]));
}

#[test]
fn operands_are_read_so_many_products_ahead() {
    let ahead = |lines: &str| KernelSass::parse(&kernel("k", lines)).swap_remove(0).read_ahead;
    // The second half of what was read, in the next iteration; and a read whose registers are taken at once.
    let turn = "HMMA.16816.F32 R4, R8, R14, R4\nLDSM.16.M88.4 R12, [R2+UR4]\nHMMA.16816.F32 R20, R8, R30, R20\n@P0 BRA `(.L_0)\nEXIT";
    assert_eq!(ahead(&format!(".L_0:\n{turn}")), Some(1));
    assert_eq!(ahead(&format!(".L_0:\nLDS.128 R28, [R2]\nMOV R9, R31\n{turn}")), Some(0));
    // An iteration is its own next one, and registers that are not taken are read for nothing.
    assert_eq!(ahead(".L_0:\nFFMA R1, R2, R3, R1\nLDS R9, [R4]\n@P0 BRA `(.L_0)\nEXIT"), Some(1));
    assert_eq!(ahead(".L_0:\nFFMA R1, R2, R3, R1\n@P0 BRA `(.L_0)\nEXIT"), None);
}

#[test]
fn without_a_loop_that_holds_a_product_there_is_none() {
    for lines in ["FFMA R1, R1, R1, R1\nEXIT", ".L_0:\nLDG R1, [R2]\n@P0 BRA `(.L_0)\nFFMA R1, R1, R1, R1\nEXIT"] {
        let [kernel] = KernelSass::parse(&kernel("k", lines)).try_into().expect("one kernel");
        assert_eq!((kernel.main_loop, kernel.whole.products()), (None, 1));
    }
}

#[test]
fn kernels_are_sorted_and_other_sections_are_none() {
    let text = kernel("b", "EXIT")
        + "\t.section\t.nv.info,\"\",@\"SHT_CUDA_INFO\"\n        /*0000*/ FFMA ;\n"
        + &kernel("a", "EXIT");
    assert_eq!(main_loops(&text), [("a".to_owned(), None), ("b".to_owned(), None)]);
    assert_eq!(main_loops(""), []);
}

#[test]
fn instructions_have_their_class() {
    for (class, all) in [
        (Class::Matrix, "HMMA.16816.F32 R4, R8, R12, R4|IMMA.16832.S8.S8 R4, R8, R12, R4"),
        (Class::Fma, "FFMA R1, R2, R3, R1|HFMA2 R1, R2, R3, R1|DFMA R2, R4, R6, R2"),
        (Class::Float, "FADD R1, R2, R3|MUFU.RCP R1, R2|F2F.TF32.F32 R1, R2|HADD2.F32 R1, -RZ, R2.H0_H0|I2F R1, R2"),
        (Class::Shared, "LDS.128 R4, [R1]|LDSM.16.M88.4 R4, [R1]|STS.64 [R1], R4"),
        (
            Class::Global,
            "LDG.E.128 R4, [R2.64]|LDGSTS.E.BYPASS.128 [R1], [R2.64]|STG.E [R2.64], R4|RED.E.ADD.F32 [R2.64], R4",
        ),
        (Class::Local, "LDL R1, [R1]|STL [R1], R2"),
        (
            Class::Integer,
            "IADD3 R1, R2, R3, RZ|IMAD.WIDE R2, R4, R5, R6|LEA.HI.X R1, R2, R3, R4|LOP3.LUT R1, R2, R3, RZ, 0xc0, !PT|UIADD3 UR4, UR5, 0x1, URZ|VIADD R1, R2, 0x1|SEL R1, R2, R3, P0|PRMT R1, R2, 0x7610, R3",
        ),
        (
            Class::Move,
            "MOV R1, R2|IMAD.MOV.U32 R1, RZ, RZ, R2|CS2R R2, SRZ|ULDC.64 UR4, c[0x0][0x118]|HFMA2.MMA R5, -RZ, RZ, 0, 0|S2R R1, SR_TID.X",
        ),
        (
            Class::Control,
            "ISETP.GE.AND P0, PT, R1, R2, PT|UISETP.NE.AND UP0, UPT, UR4, UR5, UPT|PLOP3.LUT P0, PT, PT, PT, PT, 0x8, 0x0|BRA `(.L_0)|BSSY B0, `(.L_0)|EXIT",
        ),
        (Class::Barrier, "BAR.SYNC.DEFER_BLOCKING 0x0|DEPBAR.LE SB0, 0x2|LDGDEPBAR"),
        (Class::Other, "NOP|SHFL.IDX PT, R1, R2, RZ, 0x1f"),
    ] {
        for instruction in all.split('|') {
            let (opcode, operands) = instruction.split_once(' ').unwrap_or((instruction, ""));
            assert_eq!(Class::of(opcode, operands), class, "{instruction}");
        }
    }
}

/// What nvcc and nvdisasm make of a loop of 8 dependent products that it may not unroll, and of one that is unrolled.
#[test]
fn a_compiled_loop_is_found() {
    let source = |pragma: &str| {
        format!(
            "extern \"C\" __global__ void k(float *x, int n) {{
                float a = x[0], b = x[1];
                #pragma {pragma}
                for (int i = 0; i < n; ++i) {{
                    #pragma unroll
                    for (int j = 0; j < 8; ++j) a = a * b + 1.5f;
                }}
                x[0] = a;
            }}"
        )
    };
    let nvcc = Nvcc::find().expect("`cargo xtask toolkit` installs nvcc");
    let nvdisasm = Nvdisasm::find(&nvcc).expect("`cargo xtask toolkit` installs nvdisasm");
    for device in ["sm_75", "sm_90"] {
        let compile = |source: &str| {
            let compiled = nvcc.compile(source, &[device.parse().unwrap()], &[]).unwrap();
            let [kernel] = nvdisasm.kernels(&compiled.image).unwrap().try_into().expect("one kernel");
            kernel
        };
        let mix = compile(&source("unroll 1")).main_loop.expect("a loop");
        assert!(mix.products() == 8 && (10..=16).contains(&mix.total()), "{device}: {mix}");
        let unrolled = compile(&source("unroll").replace("i < n", "i < 4"));
        assert!(unrolled.main_loop.is_none() && unrolled.whole.products() == 32, "{device}: {unrolled:?}");
    }
    let refused = nvdisasm.kernels(b"no cubin").unwrap_err();
    assert_eq!(refused.kind(), crate::ErrorKind::Failed, "{refused}");
}
