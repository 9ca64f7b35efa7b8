//! What was laid out before the call.

use dietcode_core::frontend;
use dietcode_core::schedule::{Schedule, Staging, Tail};
use dietcode_core::sketch::Tiled;

use super::kernel;
use crate::common::avx512::target;
use crate::common::units;

/// Tiles of whole panels read what was laid out before the call as vectors, and only one that hangs over the edge by panels is clamped; any
/// other schedule divides.
#[test]
fn what_was_laid_out_before_the_call_is_read_as_it_lies() {
    let source = "#[dynamic_kernel(prepared(w))] fn f(x: &[[f32; K]; M], w: &[[f32; K]; N], y: &mut [[f32; N]; M]) {
        for i in 0..M { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[i][k] * w[j][k]; } y[i][j] = acc; } } }";
    let def = kernel(source);
    let program = frontend::program(&def);
    let tiled = |size: i64| {
        let mut tiled = Tiled::default_for(&program, &target());
        for tile in [&mut tiled.register_tile, &mut tiled.block_tile] {
            tile.insert("j".into(), size);
        }
        units::scheduled(&def, "tiled", &tiled.schedule(&program, &target()).expect("it is valid"))
            .expect("it lowers")
            .source
    };
    let loads = |source: &str| -> Vec<String> {
        let sums = source.lines().filter(|line| ["_r_0 += ", "_r_0_0 += "].iter().any(|sum| line.contains(sum)));
        let at = |line: &str| line.split_once("&w[").or_else(|| line.split_once("&(w + ")).map(|(_, at)| at.to_owned());
        sums.filter_map(at).collect()
    };
    let whole = loads(&tiled(48));
    assert!(
        !whole.is_empty()
            && whole.iter().all(|at| at.starts_with("dietcode_imin(j_o * 3, (N + 15) / 16 - 1) * (K * 16) + ")),
        "{whole:?}"
    );
    let one = loads(&tiled(16));
    assert!(!one.is_empty() && one.iter().all(|at| at.starts_with("j_o * (K * 16) + ")), "{one:?}");
    let odd = tiled(24);
    assert!(odd.contains("% 16"), "{odd}");
    let panel = Schedule::new(&program, &program.blocks[0]).cache_read("w", Staging::Always).unwrap_err().to_string();
    assert!(panel.contains("`w` is laid out before calls, and read as it lies"), "{panel}");
}

/// Where a tile inside of a block hangs over the block's edge, what is read again is the tensor's last element, which a block's last place
/// is not.
#[test]
fn along_other_axes_a_prepared_operand_is_read_to_its_last_element() {
    let source = "#[dynamic_kernel(prepared(w))] fn f(x: &[[f32; K]; B], w: &[[[f32; K]; N]; B], y: &mut [[f32; N]; B]) {
        for b in 0..B { for j in 0..N { let mut acc = 0.0; for k in 0..K { acc += x[b][k] * w[b][j][k]; } y[b][j] = acc; } } }";
    let def = kernel(source);
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    schedule.split("b", 8, Tail::Clip, ["b_0", "b_1"]).unwrap();
    schedule.split("b_1", 3, Tail::Pad, ["b_2", "b_3"]).unwrap();
    schedule.decompose_reduction().unwrap();
    let text = units::scheduled(&def, "clipped", &schedule).expect("it lowers").source;
    let last = "(w + dietcode_imin(b_0 * 8 + (b_2 * 3 + b_3), B - 1) * ";
    assert!(text.contains(last), "{text}");
}
