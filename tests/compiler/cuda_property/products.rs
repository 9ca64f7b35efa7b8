//! Random matrix products: transposed or not, batched or not, scaled or not, a convolution now and then, of any element type; and
//! random micro-kernels for them with matrix instructions.

use std::collections::BTreeMap;

use dietcode_core::schedule::MatrixUnit;
use dietcode_core::sketch::{Blocked, Stage};
use dietcode_syntax::{DType, KernelDef, Param, Role};
use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, SliceRandom};

/// A product in one of its forms.
pub(crate) fn random(rng: &mut StdRng, name: &str) -> KernelDef {
    let taken = [DType::F32, DType::F16, DType::BF16];
    let dtype = taken.choose(rng).expect("there are types").to_string();
    let element = |text: String| if dtype == "f32" { text } else { format!("f32::from({text})") };
    let text = if rng.random_bool(0.15) {
        let (x, w) = (element("x[h + r][w + s]".into()), element("k[o][r][s]".into()));
        format!(
            "#[dynamic_kernel] fn {name}(x: &[[{dtype}; W + S - 1]; H + R - 1], k: &[[[{dtype}; S]; R]; O], y: &mut [[[f32; W]; H]; O]) {{
                 for o in 0..O {{ for h in 0..H {{ for w in 0..W {{
                     let mut acc = 0.0;
                     for r in 0..R {{ for s in 0..S {{ acc += {x} * {w}; }} }}
                     y[o][h][w] = acc;
                 }} }} }}
             }}"
        )
    } else {
        let batch = rng.random_bool(0.4);
        let (outer, index, close) = if batch { ("for n in 0..B {", "[n]", "}") } else { ("", "", "") };
        let tensor = |rows: &str, columns: &str| {
            let matrix = format!("[[{dtype}; {columns}]; {rows}]");
            if batch { format!("[{matrix}; B]") } else { matrix }
        };
        let (a_type, a) =
            if rng.random_bool(0.5) { (tensor("M", "K"), "a@[i][k]") } else { (tensor("K", "M"), "a@[k][i]") };
        let (b_type, b) =
            if rng.random_bool(0.5) { (tensor("K", "N"), "b@[k][j]") } else { (tensor("N", "K"), "b@[j][k]") };
        let (a, b) = (element(a.replace('@', index)), element(b.replace('@', index)));
        let (left, right) = if rng.random_bool(0.5) { (a, b) } else { (b, a) };
        let sum = format!("for k in 0..K {{ acc += {left} * {right}; }}");
        // As BLAS has it: scaled, added to what is there, and not read where it is multiplied by 0.
        let (scalars, sum, value) = if rng.random_bool(0.4) {
            let before = element(format!("y{index}[i][j]"));
            let value = format!("if beta == 0.0 {{ alpha * acc }} else {{ alpha * acc + beta * {before} }}");
            ("alpha: f32, beta: f32, ", format!("if alpha != 0.0 {{ {sum} }}"), value)
        } else {
            ("", sum, "acc".to_owned())
        };
        let stored = if dtype == "f32" { "v".to_owned() } else { format!("{dtype}::from_f32(v)") };
        format!(
            "#[dynamic_kernel] fn {name}({scalars}a: &{a_type}, b: &{b_type}, y: &mut {}) {{
                 {outer} for i in 0..M {{ for j in 0..N {{
                     let mut acc = 0.0;
                     {sum}
                     let v = {value};
                     y{index}[i][j] = {stored};
                 }} }} {close}
             }}",
            tensor("M", "N")
        )
    };
    let found = dietcode_syntax::scan(&text).expect("the source parses");
    let mut def: KernelDef = found[0].parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    // A nest's loops stand in any order, whatever the order in which its tensors lie.
    let spatial = def.loops.iter().position(|l| l.role == Role::Reduce).unwrap_or(def.loops.len());
    def.loops[..spatial].shuffle(rng);
    def
}

/// A micro-kernel with matrix instructions that may be valid for such a product.
pub(crate) fn blocked(rng: &mut StdRng, def: &KernelDef) -> Blocked {
    let convolution = def.loops.iter().any(|l| l.name == "o");
    let (row, column, step) = if convolution { ("o", "w", "s") } else { ("i", "j", "k") };
    let factors: Vec<&Param> = def.params.iter().filter(|param| !param.mutable && !param.dims.is_empty()).collect();
    let half = factors[0].dtype != DType::F32;
    let unit = match half {
        true => MatrixUnit::Half,
        false => *[MatrixUnit::Tf32, MatrixUnit::Tf32x3].choose(rng).expect("there are two"),
    };
    let mut one = |from: &[i64]| *from.choose(rng).expect("sizes");
    let along = |a: i64, b: i64| BTreeMap::from([(row.to_owned(), a), (column.to_owned(), b)]);
    let (thread, inner) = (along(one(&[1, 2, 3]), one(&[1, 2])), along(one(&[1, 2, 3]), one(&[1, 2, 3, 4])));
    let outer = if convolution { "h" } else { "n" };
    let inner = match def.loops.iter().any(|l| l.name == outer) {
        true => inner.into_iter().chain([(outer.to_owned(), one(&[1, 2]))]).collect(),
        false => inner,
    };
    let mut reduce = BTreeMap::from([(step.to_owned(), unit.steps() * one(&[1, 2]))]);
    if convolution {
        reduce.insert("r".into(), one(&[1, 2]));
    }
    let chunk = 16 / factors[0].dtype.bytes();
    let mut stage = || {
        let (vector, swizzle) = (one(&[1, 2, 4, 8]), one(&[0, chunk, 2 * chunk]));
        let pad = if swizzle > 0 { 0 } else { one(&[0, 8, 8, 1]) };
        Stage { vector, pad, swizzle, reduce_outside: false }
    };
    let stage = factors.iter().map(|param| (param.name.clone(), stage())).collect();
    let stages = one(&[1, 2, 3, 4]);
    let asynchronous = stages > 2 || (stages == 2 && rng.random_bool(0.5));
    let fragments = if stages > 1 { rng.random_range(1..=2) } else { 1 };
    let split = if rng.random_bool(0.2) { BTreeMap::from([(step.to_owned(), 2)]) } else { BTreeMap::new() };
    let streamed = split.is_empty() && rng.random_bool(0.25);
    let [stream, waves] = if streamed { [rng.random_range(2..=9), rng.random_range(1..=2)] } else { [1, 1] };
    let stage_store = rng.random_bool(0.5);
    let widths: &[i64] = if stage_store { &[1, 2, 4, 8] } else { &[1, 2] };
    let store = *widths.choose(rng).expect("widths");
    Blocked {
        thread,
        inner,
        reduce,
        stage,
        matrix_unit: Some(unit),
        stages,
        asynchronous,
        fragments,
        split,
        stream,
        waves,
        persistent: rng.random_bool(0.2),
        partition: rng.random_bool(0.4),
        store,
        stage_store,
        ..Blocked::default()
    }
}
