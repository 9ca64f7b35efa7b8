//! The conversions in `dietcode.h` are those of the crate `half`: every number of 16 bits is read, and every place where
//! rounding turns is stored, one by one and by vectors, with and without the CPU's own instructions.

use dietcode_core::machine::Toolchain;
use dietcode_core::{bf16, f16};

use crate::common::library::library;

/// Vectors by which a table is converted; 1 is one by one.
const LANES: [usize; 5] = [1, 2, 4, 8, 16];

type Load = unsafe extern "C" fn(*const u16, *mut f32, usize);
type Store = unsafe extern "C" fn(*const f32, *mut u16, usize);

/// `load_f16x1`, `store_f16x1` and so on, over tables whose length is a multiple of the lanes.
fn source() -> String {
    let mut source = "#define DIETCODE_HALF\n#include <stddef.h>\n#include \"dietcode.h\"\n".to_owned();
    for ty in ["f16", "bf16"] {
        for lanes in LANES {
            let [load, store] = match lanes {
                1 => ["to[at] = dietcode_load(from[at])".into(), format!("to[at] = dietcode_round_{ty}(from[at])")],
                n => [
                    format!("*(dietcode_f32x{n}u *)(to + at) = dietcode_load_{ty}x{n}(from + at)"),
                    format!("dietcode_store_{ty}x{n}(to + at, dietcode_load_f32x{n}(from + at))"),
                ],
            };
            source += &format!(
                "void load_{ty}x{lanes}(const dietcode_{ty} *from, float *to, size_t len) {{\n  \
                   for (size_t at = 0; at < len; at += {lanes}) {load};\n}}\n\
                 void store_{ty}x{lanes}(const float *from, dietcode_{ty} *to, size_t len) {{\n  \
                   for (size_t at = 0; at < len; at += {lanes}) {store};\n}}\n"
            );
        }
    }
    source
}

/// Numbers of 16 bits, the middle between each and the next, and the `f32`s beside both.
fn turning_points(read: fn(u16) -> f32) -> Vec<f32> {
    let near = |bits: u16| {
        let (x, next) = (read(bits), read(bits.wrapping_add(1)));
        let middle = f32::from_bits(x.to_bits() / 2 + next.to_bits() / 2 + (x.to_bits() & next.to_bits() & 1));
        [x, middle].into_iter().flat_map(|x| [x.next_down(), x, x.next_up(), x])
    };
    (0..=u16::MAX).flat_map(near).collect()
}

fn same(found: f32, expected: f32) -> bool {
    found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
}

fn check(library: &libloading::Library, ty: &str, read: fn(u16) -> f32, round: fn(f32) -> u16, march: &str) {
    let (all, points): (Vec<u16>, Vec<f32>) = ((0..=u16::MAX).collect(), turning_points(read));
    for lanes in LANES {
        let (mut loaded, mut stored) = (vec![0.0; all.len()], vec![0; points.len()]);
        // SAFETY: the functions are those of `source`, and both tables are as long as they are told.
        unsafe {
            let load = library.get::<Load>(format!("load_{ty}x{lanes}").as_bytes()).expect("the library has it");
            let store = library.get::<Store>(format!("store_{ty}x{lanes}").as_bytes()).expect("the library has it");
            load(all.as_ptr(), loaded.as_mut_ptr(), all.len());
            store(points.as_ptr(), stored.as_mut_ptr(), points.len());
        }
        for (bits, found) in all.iter().zip(loaded) {
            assert!(same(found, read(*bits)), "{march}: {ty}x{lanes} {bits:#06x} is {found}, not {}", read(*bits));
        }
        for (x, found) in points.iter().zip(stored) {
            let expected = round(*x);
            assert!(
                same(read(found), read(expected)),
                "{march}: {x:e} as {ty}x{lanes} is {found:#x}, not {expected:#x}"
            );
        }
    }
}

#[test]
fn conversions_are_exact_and_round_to_nearest_even() {
    let marches: &[&str] = if cfg!(target_arch = "x86_64") { &["native", "x86-64"] } else { &["native"] };
    for march in marches {
        let toolchain = Toolchain::find(march).expect("a C compiler");
        let library = library(&toolchain, &source(), &[]);
        check(&library, "f16", |bits| f16::from_bits(bits).to_f32(), |x| f16::from_f32(x).to_bits(), march);
        check(&library, "bf16", |bits| bf16::from_bits(bits).to_f32(), |x| bf16::from_f32(x).to_bits(), march);
    }
}
