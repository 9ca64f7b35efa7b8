//! What cannot be combined with a sum that threads share is refused, in words.

use dietcode_core::lower::lower;
use dietcode_core::machine::cuda::DeviceLimits;
use dietcode_core::schedule::{Combine, MatrixUnit, Schedule, Tail};
use dietcode_core::sketch::Blocked;
use dietcode_core::{Result, frontend};

use super::schedules::shared;
use super::{DENSE, kernel};

/// Rows are blocks, columns threads, and so are four steps of each eight.
fn threads(s: &mut Schedule) -> Result<()> {
    s.split("j", 8, Tail::Pad, ["j_b", "j_t"])?;
    s.split("k", 4, Tail::Pad, ["k_0", "k_c"])?;
    s.reorder(&["i", "j_b", "j_t", "k_c", "k_0"])?;
    ["i", "j_b"].into_iter().try_for_each(|name| s.bind_block(name))?;
    ["j_t", "k_c"].into_iter().try_for_each(|name| s.bind_thread(name))
}

/// Rows and columns of an instruction, whose steps eight threads have each.
fn matrices(s: &mut Schedule) -> Result<()> {
    s.split("i", 2, Tail::Pad, ["i_b", "i_h"])?;
    s.split("j", 2, Tail::Pad, ["j_b", "j_p"])?;
    s.split("k", 64, Tail::Pad, ["k_0", "k_1"])?;
    s.split("k_1", 8, Tail::Pad, ["k_c", "k_e"])?;
    s.reorder(&["i_b", "j_b", "k_c", "k_0", "i_h", "j_p", "k_e"])?;
    ["i_b", "j_b"].into_iter().try_for_each(|name| s.bind_block(name))?;
    s.bind_thread("k_c")?;
    s.tensorize(MatrixUnit::Tf32)
}

#[test]
fn primitives_that_do_not_fit_together_are_refused() {
    type Build = fn(&mut Schedule) -> Result<()>;
    let cases: [(Build, &str); 7] = [
        (|s| s.bind_thread("k"), "bind: `k` stands in a loop that is not bound to the grid"),
        (
            |s| {
                s.reorder(&["k", "i", "j"])?;
                s.bind_thread("k")
            },
            "bind: a block has up to 1024 threads, `k` has K",
        ),
        (
            |s| {
                s.split("i", 64, Tail::Pad, ["i_b", "i_t"])?;
                s.split("k", 32, Tail::Pad, ["k_0", "k_c"])?;
                s.reorder(&["i_b", "i_t", "k_c", "k_0", "j"])?;
                s.bind_block("i_b")?;
                s.bind_thread("i_t")?;
                s.bind_thread("k_c")
            },
            "bind: a block has up to 1024 threads, with `k_c` it would have 2048",
        ),
        (
            |s| {
                threads(s)?;
                s.bind_block("k_0")
            },
            "bind: `k_0` is summed over; the grid needs a constant extent of it",
        ),
        (
            |s| {
                threads(s)?;
                let tile = s.cache_write()?;
                s.compute_at(&tile, Some("j_t"))
            },
            "threads share the sum over `k_c`, but the tile of each stands outside of the loop over threads `k_c`",
        ),
        (
            |s| {
                threads(s)?;
                let tile = s.cache_write()?;
                s.compute_at(&tile, Some("k_0"))
            },
            "threads share the sum over `k_c`, but the tile of each stands inside of `k_0`, which is not bound to the grid",
        ),
        (
            |s| matrices(s),
            "threads share the sum over `k_c`, but a matrix unit sums for whole warps; do without the one or the other",
        ),
    ];
    let program = frontend::program(&kernel(DENSE));
    for (build, expected) in cases {
        let mut schedule = Schedule::new(&program, &program.blocks[0]);
        let result = build(&mut schedule).and_then(|()| lower(&schedule));
        let error = result.err().unwrap_or_else(|| panic!("lowered, expected: {expected}")).to_string();
        assert!(error.contains(expected), "{error}\nexpected: {expected}");
    }
}

/// All threads of a block fill a tile, also those that share a sum.
#[test]
fn tiles_that_not_all_threads_fill_are_refused() {
    let def = kernel(&DENSE.replace("f32; K", "f32; 32").replace("0..K", "0..32"));
    let program = frontend::program(&def);
    let mut schedule = Schedule::new(&program, &program.blocks[0]);
    let mut scheduled = || {
        threads(&mut schedule)?;
        let tile = schedule.cache_read("x", shared(1))?;
        schedule.compute_at(&tile[0], Some("j_t"))
    };
    scheduled().unwrap_or_else(|e| panic!("{e}"));
    let error = lower(&schedule).expect_err("not all threads fill it").to_string();
    let expected = "`x_shared`: it stands outside of the loop over threads `k_c`, all of which fill it";
    assert!(error.contains(expected), "{error}");
}

/// Memory adds atomically, and does nothing else.
#[test]
fn parts_of_other_reductions_than_sums_meet_in_a_workspace_only() {
    for (update, name) in [("acc *= ", "product"), ("acc = acc.max", "maximum"), ("acc = acc.min", "minimum")] {
        let def = kernel(&DENSE.replace("acc += x[i][k] * w[j][k]", &format!("{update}(x[i][k] * w[j][k])")));
        let program = frontend::program(&def);
        let split = |combine| {
            let mut s = Schedule::new(&program, &program.blocks[0]);
            s.split("k", 8, Tail::Pad, ["k_0", "k_1"])?;
            s.split("k_0", 4, Tail::Pad, ["k_2", "k_s"])?;
            s.reorder(&["k_s", "i", "j", "k_2", "k_1"])?;
            ["k_s", "i"].into_iter().try_for_each(|name| s.bind_block(name))?;
            s.rfactor(combine)
        };
        split(Combine::Workspace).unwrap_or_else(|e| panic!("{e}"));
        let error = split(Combine::Atomic).expect_err("it is no sum").to_string();
        let expected =
            format!("rfactor: parts of a {name} meet in a workspace; only those of a sum are added atomically");
        assert!(error.contains(&expected), "{error}");
        let blocked = r#"{"thread": {"j": 32}, "split": {"k": 4}, "reduce": {"k": 8}, "atomic": true}"#;
        let blocked: Blocked = serde_json::from_str(blocked).expect("parameters");
        let sm_80 = DeviceLimits::of("sm_80".parse().expect("a capability")).expect("it is known");
        let error = blocked.micro_kernel(&program, sm_80).expect_err("it is no sum").to_string();
        assert!(error.contains(&expected), "{error}");
    }
}
